(* The joint matrix J(eta) of (theta, omega): its pencil, and a step ratio eta that
   makes it stable. R is a real closed field, for instance the reals, and R[i] its
   complex numbers. *)

From mathcomp Require Import all_ssreflect all_algebra complex.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* J(eta) = [[A, -(M + A')], [eta A, -eta M]]. *)
Definition joint (K : ringType) d (A M : 'M[K]_d) (eta : K) : 'M[K]_(d + d) :=
  block_mx A (- (M + A^T)) (eta *: A) (- (eta *: M)).

(* s^2 + s (eta M - A) + eta A A'. *)
Definition pencil (K : ringType) d (A M : 'M[K]_d) (eta s : K) : 'M[K]_d :=
  (s ^+ 2)%:M + s *: (eta *: M - A) + eta *: (A *m A^T).

Section Determinant.
Variables (K : fieldType) (d : nat).
Implicit Types (A B C D M : 'M[K]_d).

(* A block matrix with a scalar corner. *)
Lemma det_corner (s : K) B C D : \det (block_mx s%:M B C D) = \det (s *: D - C *m B).
Proof.
have [->|s0] := eqVneq s 0.
  have -> : 0%:M = 0 :> 'M[K]_d by rewrite raddf0.
  have turn : \det (block_mx 0 (- 1%:M) 1%:M 0 : 'M[K]_(d + d)) = 1.
    pose up : 'M[K]_(d + d) := block_mx 1%:M (- 1%:M) 0 1%:M.
    pose low : 'M[K]_(d + d) := block_mx 1%:M 0 1%:M 1%:M.
    have -> : block_mx 0 (- 1%:M) 1%:M 0 = up *m low *m up.
      by rewrite !mulmx_block !(mulmx0, mul0mx, mulmx1, mul1mx, addr0, add0r, subrr, addNr).
    by rewrite !det_mulmx /up /low det_ublock det_lblock !det1 !mulr1.
  rewrite scale0r sub0r -[LHS]mulr1 -turn -det_mulmx mulmx_block.
  rewrite !(mulmx0, mul0mx, mulmx1, mulmxN, addr0, add0r, oppr0) det_lblock mulrC -det_mulmx.
  by rewrite mulNmx.
have : \det (block_mx s%:M B C D) * s ^+ d = s ^+ d * \det (s *: D - C *m B).
  have <- : \det (block_mx 1%:M (- B) 0 s%:M) = s ^+ d by rewrite det_ublock det1 mul1r det_scalar.
  rewrite -det_mulmx mulmx_block !(mulmx0, mulmx1, addr0) !mul_scalar_mx !mul_mx_scalar.
  by rewrite scalerN addNr det_lblock det_scalar mulmxN addrC det_ublock det1 mul1r det_scalar.
by rewrite mulrC => /mulfI; apply; rewrite expf_neq0.
Qed.

(* det(J - s) = det(pencil at s). *)
Theorem det_joint A M (eta s : K) : eta != 0 ->
  \det (joint A M eta - s%:M) = \det (pencil A M eta s).
Proof.
move=> eta0; pose down : 'M[K]_(d + d) := block_mx 1%:M (- eta^-1%:M) 0 1%:M.
have -> : \det (joint A M eta - s%:M) = \det (down *m (joint A M eta - s%:M)).
  by rewrite det_mulmx det_ublock !det1 !mul1r.
have -> : down *m (joint A M eta - s%:M)
          = block_mx (- s)%:M ((eta^-1 * s)%:M - A^T) (eta *: A) (- (eta *: M) - s%:M).
  rewrite scalar_mx_block /joint opp_block_mx add_block_mx oppr0 !addr0 mulmx_block.
  rewrite !(mul1mx, mul0mx, add0r) !mulNmx !mul_scalar_mx; congr block_mx.
    by rewrite scalerA mulVf // scale1r addrAC subrr add0r raddfN.
  rewrite scalerBr scalerN scalerA mulVf // scale1r opprB opprK scale_scalar_mx opprD.
  by rewrite addrCA [X in _ + X]addrAC addNr add0r.
rewrite det_corner; congr (\det _); rewrite mulmxBr -scalemxAl -scalemxAl mul_mx_scalar.
rewrite scalerA mulVKf // scaleNr -scalerN !opprB opprK scalerDr scale_scalar_mx -expr2 /pencil scalerBr.
by rewrite -!addrA [X in _ + (_ + X) = _]addrC.
Qed.
End Determinant.

(* Complex vectors and forms. *)
Section Hermitian.
Variable C : numClosedFieldType.

Definition adj m n (B : 'M[C]_(m, n)) : 'M[C]_(n, m) := map_mx conjC B^T.
Definition hform n (B : 'M[C]_n) (x : 'rV[C]_n) : C := (x *m B *m adj x) 0 0.
Definition positive n (B : 'M[C]_n) := forall x, x != 0 -> 0 < hform B x.

Lemma adjM m n l (B : 'M[C]_(m, n)) (D : 'M[C]_(n, l)) : adj (B *m D) = adj D *m adj B.
Proof. by rewrite /adj trmx_mul map_mxM. Qed.

Lemma adjD m n (B D : 'M[C]_(m, n)) : adj (B + D) = adj B + adj D.
Proof. by rewrite /adj linearD map_mxD. Qed.

Lemma adjZ m n c (B : 'M[C]_(m, n)) : adj (c *: B) = c^* *: adj B.
Proof. by rewrite /adj linearZ map_mxZ. Qed.

Lemma adjK m n (B : 'M[C]_(m, n)) : adj (adj B) = B.
Proof. by apply/matrixP => i j; rewrite !mxE conjCK. Qed.

Lemma adj0 m n : adj (0 : 'M[C]_(m, n)) = 0.
Proof. by rewrite /adj trmx0 map_mx0. Qed.

Lemma hformD n (B D : 'M[C]_n) x : hform (B + D) x = hform B x + hform D x.
Proof. by rewrite /hform mulmxDr mulmxDl mxE. Qed.

Lemma hformZ n c (B : 'M[C]_n) x : hform (c *: B) x = c * hform B x.
Proof. by rewrite /hform -scalemxAr -scalemxAl mxE. Qed.

Lemma hform_adj n (B : 'M[C]_n) x : hform (adj B) x = (hform B x)^*.
Proof.
have -> : (hform B x)^* = adj (x *m B *m adj x) 0 0 by rewrite [RHS]mxE [in RHS]mxE.
by rewrite !adjM adjK mulmxA.
Qed.

Lemma positive1 n : positive (1%:M : 'M[C]_n).
Proof.
move=> x x0; rewrite /hform mulmx1 mxE lt_def; apply/andP; split; last first.
  by apply: sumr_ge0 => i _; rewrite !mxE mul_conjC_ge0.
apply: contraNneq x0 => /psumr_eq0P zero; apply/eqP/rowP => i; rewrite mxE.
apply/eqP; rewrite -mul_conjC_eq0; apply/eqP; have := zero _ i isT; rewrite !mxE; apply=> k _.
by rewrite !mxE mul_conjC_ge0.
Qed.

(* A quadratic a s^2 + w s + r with a, r > 0 and Re w > 0 has its roots in the left half-plane. *)
Lemma quadratic_stable (a w r s : C) : 0 < a -> 0 < r -> 0 < 'Re w -> a * s ^+ 2 + w * s + r = 0 -> 'Re s < 0.
Proof.
move=> a0 r0 w0 root.
have s0 : s != 0 by apply: contra_eq_neq root => ->; rewrite expr0n !mulr0 !add0r gt_eqF.
have norm0 : 0 < s * s^* by rewrite mul_conjC_gt0.
have : 'Re (s^* * (a * s ^+ 2 + w * s + r)) = 0 by rewrite root mulr0 raddf0.
have -> : s^* * (a * s ^+ 2 + w * s + r) = (a * (s * s^*)) * s + (s * s^*) * w + r * s^*.
  rewrite !mulrDr; congr (_ + _ + _); last by rewrite mulrC.
  - by rewrite expr2 mulrCA -!mulrA; congr (_ * _); rewrite mulrCA.
  - by rewrite mulrCA mulrC [s^* * s]mulrC.
have lead : 0 < a * (s * s^* ) by rewrite mulr_gt0.
rewrite !raddfD /= (ReMl (gtr0_real lead)) (ReMl (gtr0_real norm0)) (ReMl (gtr0_real r0)) Re_conj.
rewrite addrAC -mulrDl => /eqP; rewrite addr_eq0 => /eqP sum.
by rewrite -(pmulr_rlt0 _ (addr_gt0 lead r0)) sum oppr_lt0 mulr_gt0.
Qed.

(* If S is hermitian, M positive, and every a with v S = a v M is positive, then S is positive:
   take one such v; on the M-orthogonal complement of v the same holds, in one dimension less. *)
Lemma pencil_positive n (S M : 'M[C]_n) : adj S = S -> adj M = M -> positive M ->
  (forall a (v : 'rV_n), v != 0 -> v *m S = a *: (v *m M) -> 0 < a) -> positive S.
Proof.
elim: n S M => [|n IH] S M hS hM pM eigen x x0; first by case/eqP: x0; apply/rowP => -[].
have unit_M : M \in unitmx.
  rewrite unitmxE unitfE; apply/det0P => -[v v0 vM].
  by have := pM _ v0; rewrite /hform vM mul0mx mxE ltxx.
have [a [v v0 vS]] : exists a, exists2 v : 'rV_n.+1, v != 0 & v *m S = a *: (v *m M).
  have /closed_rootP[a] : size (char_poly (S *m invmx M)) != 1%N by rewrite size_char_poly.
  rewrite -eigenvalue_root_char => /eigenvalueP[v vS v0]; exists a; exists v => //.
  by rewrite scalemxAl -vS -!mulmxA mulVmx // mulmx1.
have a0 := eigen _ _ v0 vS; have b0 := pM v v0; pose w := M *m adj v.
have vw : v *m w = (hform M v)%:M by rewrite /w mulmxA [LHS]mx11_scalar.
have cross z : z *m w = 0 -> (v *m S *m adj z = 0) * (z *m S *m adj v = 0).
  move=> zw; have zero : v *m S *m adj z = 0.
    have -> : v *m S *m adj z = a *: adj (z *m w) by rewrite vS -scalemxAl !adjM adjK hM.
    by rewrite zw adj0 scaler0.
  have -> : z *m S *m adj v = adj (v *m S *m adj z) by rewrite !adjM adjK hS mulmxA.
  by rewrite zero adj0.
have [B [free_B ker_B]] : exists B : 'M_(n, n.+1), row_free B /\ (B :=: kermx w)%MS.
  have rank : \rank (kermx w) = n.
    rewrite mxrank_ker; suff -> : \rank w = 1%N by rewrite subn1.
    apply/eqP; rewrite eqn_leq rank_leq_col lt0n mxrank_eq0; apply: contraTneq b0 => w0.
    by rewrite /hform -mulmxA -/w w0 mulmx0 mxE ltxx.
  have : exists B : 'M_(\rank (kermx w), n.+1), row_free B /\ (B :=: kermx w)%MS.
    by exists (row_base (kermx w)); split; [exact: row_base_free | exact: eq_row_base].
  by move: (kermx w) rank => K ->.
have split_v t : exists c y, t = c *: v + y *m B.
  pose c := (t *m w) 0 0 / hform M v; exists c.
  have /submxP[y yB] : (t - c *: v <= B)%MS.
    rewrite ker_B; apply/sub_kermxP; rewrite mulmxBl -scalemxAl vw scale_scalar_mx divfK ?gt_eqF //.
    by rewrite {1}[t *m w]mx11_scalar subrr.
  by exists y; rewrite -yB addrC subrK.
have Bw y : y *m B *m w = 0 by apply/sub_kermxP; rewrite -ker_B submxMl.
have B0 y : y != 0 -> y *m B != 0 by rewrite mulmx_free_eq0.
have part y : hform (B *m S *m adj B) y = hform S (y *m B) by rewrite /hform adjM !mulmxA.
have pos_B : positive (B *m S *m adj B).
  apply: (IH _ (B *m M *m adj B)); rewrite ?adjM ?adjK ?hS ?hM ?mulmxA //.
    by move=> y y0; have := pM _ (B0 _ _ y0); rewrite /hform adjM !mulmxA.
  move=> c y y0 yS; apply: (eigen c (y *m B)) => //; first exact: B0.
  apply/eqP; rewrite -subr_eq0; set u := _ - _; apply: contraT => u0.
  have u_v : u *m adj v = 0.
    by rewrite mulmxBl (cross _ _ (Bw _ y)).2 -scalemxAl -[_ *m M *m _]mulmxA Bw scaler0 subrr.
  have u_B : u *m adj B = 0 by rewrite mulmxBl -scalemxAl -!mulmxA !(mulmxA B) yS subrr.
  have := positive1 u0; rewrite /hform mulmx1; have [c' [y' {2}->]] := split_v u.
  by rewrite adjD adjZ adjM mulmxDr -scalemxAr u_v mulmxA u_B mul0mx scaler0 addr0 mxE ltxx.
have [c [y def_x]] := split_v x.
have sum : hform S x = c * c^* * (a * hform M v) + hform S (y *m B).
  have [vz zv] := cross _ _ (Bw _ y); rewrite /hform def_x adjD adjZ mulmxDl mulmxDl !mulmxDr.
  rewrite -!scalemxAr -!scalemxAl vz zv !scaler0 addr0 add0r vS -scalemxAl !scalerA.
  by rewrite [LHS]mxE [X in X + _]mxE mulrA [c^* * c]mulrC.
have [y0|y0] := eqVneq y 0; last first.
  by rewrite sum ltr_paddl // -?part ?pos_B // mulr_ge0 ?mul_conjC_ge0 // ltW // mulr_gt0 //.
have c0 : c != 0 by apply: contraNneq x0 => c0; rewrite def_x c0 y0 scale0r mul0mx addr0.
by rewrite sum y0 mul0mx {2}/hform !mul0mx mxE addr0 mulr_gt0 ?mul_conjC_gt0 // mulr_gt0.
Qed.
End Hermitian.

Section StepRatio.
Variables (R : rcfType) (d : nat).
Implicit Types (A M S : 'M[R]_d) (eta : R).
Local Notation lift := (map_mx (real_complex R)).

(* A real matrix is stable if its complex eigenvalues have negative real parts. *)
Definition hurwitz m (B : 'M[R]_m) := forall s : R[i], eigenvalue (lift B) s -> complex.Re s < 0.

(* x S x' > 0 for every real x other than zero. *)
Definition pos_def S := forall x : 'rV[R]_d, x != 0 -> 0 < (x *m S *m x^T) 0 0.

Definition sym A : 'M[R]_d := 2%:R^-1 *: (A + A^T).

Lemma adj_lift m n (B : 'M[R]_(m, n)) : adj (lift B) = lift B^T.
Proof. by apply/matrixP => i j; rewrite !mxE conj_Creal //; apply/complex_realP; exists (B j i). Qed.

(* A symmetric real matrix that is positive on real vectors is positive on complex ones. *)
Lemma pos_lift S : S^T = S -> pos_def S -> positive (lift S).
Proof.
move=> symS pS x x0; pose u := map_mx (@complex.Re R) x; pose v := map_mx (@complex.Im R) x.
have def_x : x = lift u + 'i *: lift v by apply/matrixP => i j; rewrite !mxE complexRe complexIm -Crect.
have sum : hform (lift S) x = ((u *m S *m u^T) 0 0 + (v *m S *m v^T) 0 0)%:C%C.
  have swap : v *m S *m u^T = u *m S *m v^T.
    by rewrite [LHS]mx11_scalar -tr_scalar_mx -mx11_scalar !trmx_mul trmxK symS mulmxA.
  rewrite /hform def_x adjD adjZ !adj_lift conjCi scaleNr !mulmxDl !mulmxDr !mulmxN -!scalemxAr -!scalemxAl.
  rewrite -!map_mxM swap scalerA mulCii scaleN1r opprK subrKA.
  by rewrite rmorphD mxE; congr (_ + _); rewrite mxE.
have ge0 (y : 'rV_d) : 0 <= (y *m S *m y^T) 0 0.
  by have [->|y0] := eqVneq y 0; [rewrite !mul0mx mxE | exact/ltW/pS].
rewrite sum ltcR; have [u0|u0] := eqVneq u 0; last by rewrite ltr_paddr ?pS.
rewrite ltr_paddl // pS //; apply: contraNneq x0 => v0.
by rewrite def_x u0 v0 !map_mx0 scaler0 addr0.
Qed.

Lemma sym_tr A : (sym A)^T = sym A.
Proof. by rewrite /sym linearZ linearD /= trmxK addrC. Qed.

Lemma lift_joint A M eta : lift (joint A M eta) = joint (lift A) (lift M) eta%:C%C.
Proof. by rewrite /joint map_block_mx !map_mxN map_mxD !map_mxZ map_trmx. Qed.

(* If eta M - (A + A')/2 is positive, J(eta) is stable. *)
Theorem joint_stable_form A M eta : M^T = M -> A \in unitmx -> 0 < eta ->
  pos_def (eta *: M - sym A) -> hurwitz (joint A M eta).
Proof.
move=> symM unit_A eta0 pos s /eigenvalueP[z zJ z0]; rewrite -ltcR complexRe.
have etaC : 0 < eta%:C%C :> R[i] by rewrite ltcR.
have /det0P[x x0 xP] : \det (pencil (lift A) (lift M) eta%:C%C s) == 0.
  rewrite -det_joint ?lt0r_neq0 // -lift_joint; apply/det0P; exists z => //.
  by rewrite mulmxBr zJ mul_mx_scalar subrr.
have symS : (eta *: M - sym A)^T = eta *: M - sym A by rewrite linearB linearZ /= symM sym_tr.
apply: (@quadratic_stable _ (hform 1%:M x) (hform (lift (eta *: M - A)) x)
                            (eta%:C%C * hform 1%:M (x *m lift A))).
- exact: positive1.
- rewrite mulr_gt0 ?positive1 //; apply: contraNneq x0 => xA.
  by rewrite -[x](mulmxK (_ : lift A \in unitmx)) ?map_unitmx // xA mul0mx.
- rewrite ReE -hform_adj -hformD adj_lift -map_mxD.
  have -> : eta *: M - A + (eta *: M - A)^T = 2%:R *: (eta *: M - sym A).
    rewrite linearB linearZ /= symM addrACA -opprD scalerBr /sym [_ *: (_^-1 *: _)]scalerA mulfV ?pnatr_eq0 // scale1r.
    by rewrite scaler_nat mulr2n.
  rewrite map_mxZ hformZ rmorph_nat mulrAC mulfV ?pnatr_eq0 // mul1r.
  exact: pos_lift.
have : (x *m pencil (lift A) (lift M) eta%:C%C s *m adj x) 0 0 = 0 by rewrite xP mul0mx mxE.
rewrite -[LHS]/(hform _ x) /pencil -scalemx1 !hformD !hformZ.
have -> : hform (lift A *m (lift A)^T) x = hform 1%:M (x *m lift A).
  by rewrite /hform mulmx1 adjM adj_lift map_trmx !mulmxA.
by rewrite map_mxB map_mxZ => <-; congr (_ + _ + _); rewrite mulrC.
Qed.

(* The same from the bound of the book: eta is larger than every eigenvalue of M^-1 (A + A')/2. *)
Theorem joint_stable A M eta :
    M^T = M -> pos_def M -> A \in unitmx -> 0 < eta ->
    (forall t, eigenvalue (invmx M *m sym A) t -> t < eta) ->
  hurwitz (joint A M eta).
Proof.
move=> symM pM unit_A eta0 bound; apply: joint_stable_form => // x x0; set S := eta *: M - sym A.
have symS : S^T = S by rewrite linearB linearZ /= symM sym_tr.
have unit_M : M \in unitmx.
  rewrite unitmxE unitfE; apply/det0P => -[v v0 vM].
  by have := pM _ v0; rewrite vM mul0mx mxE ltxx.
have real_form (B : 'M[R]_d) v : B^T = B -> hform (lift B) v \is Num.real.
  by move=> symB; apply/CrealP; rewrite -hform_adj adj_lift symB.
have pos : positive (lift S).
  apply: (@pencil_positive _ _ _ (lift M)); rewrite ?adj_lift ?symS ?symM //; first exact: pos_lift.
  move=> a v v0 vS; have pos_v := pos_lift symM pM v0.
  have /complex_realP[t def_a] : eta%:C%C - a \is Num.real.
    rewrite rpredB //; first by apply/complex_realP; exists eta.
    rewrite -[a](mulfK (lt0r_neq0 pos_v)) rpred_div ?real_form //.
    have -> : a * hform (lift M) v = hform (lift S) v by rewrite /hform vS -scalemxAl [RHS]mxE.
    exact: real_form.
  suff : t < eta by rewrite -ltcR -def_a ltr_subl_addr -ltr_subl_addl subrr.
  apply: bound; rewrite eigenvalue_root_char -(fmorph_root [rmorphism of real_complex R]) map_char_poly.
  rewrite -eigenvalue_root_char; apply/eigenvalueP; exists (v *m lift M).
    rewrite -mulmxA -map_mxM mulKVmx // -[_ t]/t%:C%C -def_a scalerBl -vS.
    have -> : lift S = eta%:C%C *: lift M - lift (sym A) by rewrite map_mxB (map_mxZ _ eta M).
    by rewrite mulmxBr -scalemxAr opprB addrC subrK.
  by apply: contraTneq pos_v => vM; rewrite /hform vM mul0mx mxE ltxx.
have := pos (lift x); rewrite map_mx_eq0 => /(_ x0).
by rewrite /hform adj_lift -!map_mxM mxE ltcR.
Qed.
End StepRatio.
