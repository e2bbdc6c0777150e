(* MSPBE where M has no inverse: every generalised inverse gives the same number,
   and it is the squared length of the projected Bellman error. *)

From mathcomp Require Import all_ssreflect all_algebra.
From GQ Require Import Chains Prediction.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section GeneralisedInverse.
Variables (F : realFieldType) (n d : nat) (p : problem F n d) (sigma lam : F).
Hypothesis xi_ge0 : forall i, 0 <= xi p 0 i.
Let Phi := features p.
Let Xi := Xi p.
Let M := M p.

Definition generalised_inverse (N : 'M[F]_d) := M *m N *m M = M.

(* What M sends to zero has length zero, so Xi Phi sends it to zero. *)
Lemma null_M m (x : 'M[F]_(d, m)) : M *m x = 0 -> Xi *m (Phi *m x) = 0.
Proof.
move=> Mx0; apply/matrixP => i j; rewrite /Xi mul_diag_mx !mxE.
have : (x^T *m (M *m x)) j j = 0 by rewrite Mx0 mulmx0 mxE.
have -> : x^T *m (M *m x) = (Phi *m x)^T *m (Xi *m (Phi *m x)) by rewrite trmx_mul !mulmxA.
rewrite /Xi mul_diag_mx mxE => /psumr_eq0P zero.
have /eqP : (Phi *m x)^T j i * (xi p 0 i * (Phi *m x) i j) = 0.
  have := zero _ i isT; rewrite !mxE; apply=> k _.
  by rewrite !mxE mulrCA mulr_ge0 // -expr2 sqr_ge0.
rewrite !mxE mulrCA !mulf_eq0 => /orP[/eqP ->|]; first by rewrite mul0r.
by rewrite orbb => /eqP ->; rewrite mulr0.
Qed.

(* Hence everything of the form Phi' Xi y lies in the range of M. *)
Lemma range_M (y : 'cV[F]_n) : exists c, Phi^T *m Xi *m y = M *m c.
Proof.
have /submxP[D sub] : (y^T *m Xi *m Phi <= M)%MS.
  by rewrite submxE -!mulmxA null_M ?mulmx0 // mulmx_coker.
exists D^T; apply: trmx_inj.
by rewrite [RHS]trmx_mul trmxK M_tr -sub !trmx_mul trmxK /Xi tr_diag_mx mulmxA.
Qed.

(* On the range of M all generalised inverses are one form. *)
Lemma form_range N c : generalised_inverse N -> form N (M *m c) = form M c.
Proof. by move=> inverse_N; rewrite /form trmx_mul M_tr -[in RHS]inverse_N !mulmxA. Qed.

Variables (N : 'M[F]_d) (theta : 'cV[F]_d).
Hypothesis inverse_N : generalised_inverse N.

(* MSPBE is the same for every generalised inverse. *)
Theorem mspbe_any_inverse N' : generalised_inverse N' ->
  mspbe p sigma lam N theta = mspbe p sigma lam N' theta.
Proof.
move=> inverse_N'; rewrite /mspbe update_operator.
by have [c ->] := range_M (operator p sigma lam (Phi *m theta) - Phi *m theta); rewrite !form_range.
Qed.

(* It is half the squared length of Phi theta - Pi B Phi theta. *)
Definition projection : 'M[F]_n := Phi *m N *m Phi^T *m Xi.

Theorem mspbe_projected :
  mspbe p sigma lam N theta
  = 2%:R^-1 * form Xi (Phi *m theta - projection *m operator p sigma lam (Phi *m theta)).
Proof.
rewrite /mspbe update_operator; congr (_ * _); set q := Phi *m theta; set y := operator _ _ _ _ - _.
have null : Xi *m (q - projection *m q) = 0.
  have -> : q - projection *m q = Phi *m (theta - N *m (M *m theta)).
    by rewrite mulmxBr /q /projection /M /Prediction.M !mulmxA.
  by apply: null_M; rewrite mulmxBr (mulmxA M N) (mulmxA _ M) inverse_N subrr.
have -> : q - projection *m operator p sigma lam q = (q - projection *m q) - projection *m y.
  by rewrite /y mulmxBr opprB addrA subrK.
move: (q - _) null => z null.
have -> : form Xi (z - projection *m y) = form Xi (projection *m y).
  have null_tr : z^T *m Xi = 0 by rewrite -[Xi]trmxK -trmx_mul /Xi tr_diag_mx null trmx0.
  move: (projection *m y) => u; rewrite /form [(z - u)^T]linearB /= mulmxBl null_tr sub0r mulNmx.
  by rewrite mulmxBr -[_ *m z]mulmxA null mulmx0 sub0r opprK.
have [c image] := range_M y.
have -> : projection *m y = Phi *m (N *m (M *m c)) by rewrite -image /projection !mulmxA.
have -> : form Xi (Phi *m (N *m (M *m c))) = form M (N *m (M *m c)).
  by rewrite /form trmx_mul /M /Prediction.M !mulmxA.
have inverse_tr : M *m N^T *m M = M.
  by have := congr1 trmx inverse_N; rewrite (trmx_mul _ M) (trmx_mul M N) M_tr mulmxA.
have -> : form N (Phi^T *m Prediction.Xi p *m y) = form N (M *m c) by rewrite -image.
rewrite /form (trmx_mul N) (trmx_mul M) M_tr; congr (fun_of_matrix _ 0 0).
by rewrite -[c^T *m M *m N^T *m M]mulmxA -[c^T *m M *m (_ *m M)]mulmxA (mulmxA M) inverse_tr [RHS]mulmxA.
Qed.
End GeneralisedInverse.
