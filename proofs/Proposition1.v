(* Proposition 1 for finite chains.

   First the algebra of the stationary trace: gamma E[v] = M + A', the gradient
   of MSPBE and its three forms. Then the same from the process itself: the
   expectations over k + 1 steps of the sampled update, started with an empty
   trace, and exactly what is missing at age k. *)

From mathcomp Require Import all_ssreflect all_algebra.
From GQ Require Import Chains Prediction.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Lemma form_sum (F : realFieldType) m (W : 'M[F]_m) (x y : 'cV[F]_m) : W^T = W ->
  form W (x + y) = form W x + 2%:R * (y^T *m W *m x) 0 0 + form W y.
Proof.
move=> sym; rewrite /form [(x + y)^T]linearD /= !mulmxDl !mulmxDr.
have -> : x^T *m W *m y = (y^T *m W *m x)^T by rewrite !trmx_mul trmxK sym mulmxA.
move: (x^T *m _ *m x) (y^T *m _ *m x) (y^T *m _ *m y) => a c e.
by rewrite !mxE mulr_natl mulr2n !addrA.
Qed.

(* The braces of Eq. (23), collected: mean next feature of the mixture less lam times that of the behaviour. *)
Lemma v_collected (F : realFieldType) n d (p : problem F n d) sigma lam :
  (sigma * (1 - lam)) *: (p_mu p *m features p) + (1 - sigma) *: (p_pi p *m features p - lam *: (p_mu p *m features p))
  = p_nu p sigma *m features p - lam *: (p_mu p *m features p).
Proof.
rewrite /p_nu /mix mulmxDl -!scalemxAl scalerBr addrCA -addrA; congr (_ + _).
rewrite scalerA -!scalerBl; congr (_ *: _).
by rewrite mulrBr mulr1 mulrBl mul1r opprB addrA subrK.
Qed.

Section Stationary.
Variables (F : realFieldType) (n d : nat) (p : problem F n d) (sigma lam : F).
Let Phi := features p.
Let A := A p sigma lam.
Let M := M p.
Let X := X p lam.
Let gamma_v := gamma_v p sigma lam.
Let update := update p sigma lam.

(* The trace weights balance: X = Xi Phi + gamma lam P' X. *)
Lemma trace_balance : valid p lam -> X = Xi p *m Phi + (gamma p * lam) *: ((p_mu p)^T *m X).
Proof.
move=> ok; have unit : 1%:M - (gamma p * lam) *: (p_mu p)^T \in unitmx.
  by rewrite -linearZ /= -[1%:M]trmx1 -linearB unitmx_tr valid_resolvent.
have : (1%:M - (gamma p * lam) *: (p_mu p)^T) *m X = Xi p *m Phi by rewrite /X /Prediction.X -mulmxA mulKVmx.
by rewrite mulmxBl mul1mx -scalemxAl => /eqP; rewrite subr_eq => /eqP.
Qed.

(* E[phi_k e_k'] = M + gamma lam E[phi_{k+1} e_k']: the trace unfolded once and shifted by a step. *)
Lemma trace_shift : valid p lam -> Phi^T *m X = M + (gamma p * lam) *: ((p_mu p *m Phi)^T *m X).
Proof.
by move=> ok; rewrite {1}trace_balance // mulmxDr mulmxA -scalemxAr trmx_mul !mulmxA.
Qed.

(* A' = gamma E[(sigma phi_{k+1} + (1 - sigma) mean phi_{k+1}) e_k'] - E[phi_k e_k']. *)
Lemma A_tr : A^T = gamma p *: ((p_nu p sigma *m Phi)^T *m X) - Phi^T *m X.
Proof.
rewrite /A /Prediction.A -X_tr -mulmxA trmx_mul trmxK mulmxBl mul1mx -scalemxAl linearB linearZ /=.
by rewrite mulmxBl -scalemxAl.
Qed.

(* gamma E[v] = M + A'. *)
Theorem gamma_v_identity : valid p lam -> gamma_v = M + A^T.
Proof.
move=> ok; rewrite A_tr trace_shift // opprD addrCA addNKr -scalerA -scalerBr /gamma_v /Prediction.gamma_v.
rewrite -scalemxAl; congr (_ *: _); rewrite [in RHS]scalemxAl -mulmxBl; congr (_ *m _).
apply: trmx_inj; rewrite [in RHS]linearB [in RHS]linearZ /= !trmxK.
by rewrite v_collected.
Qed.

(* M has an inverse from here on, and omega = M^-1 (A theta + b). *)
Variable theta : 'cV[F]_d.
Hypothesis unit_M : M \in unitmx.
Let omega := invmx M *m update theta.

(* The gradient: MSPBE(theta + h) = MSPBE(theta) + h' A' M^-1 (A theta + b) + |A h|^2 / 2, in the norm of M^-1. *)
Theorem mspbe_gradient h :
  mspbe p sigma lam (invmx M) (theta + h)
  = mspbe p sigma lam (invmx M) theta + (h^T *m (A^T *m omega)) 0 0 + 2%:R^-1 * form (invmx M) (A *m h).
Proof.
have -> : mspbe p sigma lam (invmx M) (theta + h) = 2%:R^-1 * form (invmx M) (update theta + A *m h).
  by rewrite /mspbe /update /Prediction.update mulmxDr addrAC.
rewrite form_sum ?trmx_inv ?M_tr // !mulrDr mulKf ?pnatr_eq0 //.
by rewrite trmx_mul !mulmxA.
Qed.

(* -grad MSPBE = E[phi e'] omega - gamma E[(sigma phi_next + (1 - sigma) mean phi_next) e'] omega. *)
Theorem gradient_second_form :
  - (A^T *m omega) = Phi^T *m X *m omega - gamma p *: ((p_nu p sigma *m Phi)^T *m X *m omega).
Proof. by rewrite A_tr mulmxBl -scalemxAl opprB. Qed.

(* -grad MSPBE = E[delta e] - gamma E[v] omega, Eq. (24). *)
Theorem gradient_third_form : valid p lam -> - (A^T *m omega) = update theta - gamma_v *m omega.
Proof. by move=> ok; rewrite gamma_v_identity // mulmxDl mulKVmx // opprD addNKr. Qed.
End Stationary.

(* The process itself: the first pair from a stationary law, each next one from P^mu, and a trace that starts empty. *)
Section Process.
Variables (F : realFieldType) (n d : nat) (p : problem F n d) (sigma lam : F).
Let Phi := features p.
Let P := p_mu p.
Let decay := gamma p * lam.

(* The expectation of f(pair at time k, trace at time k); the trace is a row. *)
Fixpoint mean (V : lmodType F) k (f : 'I_n -> 'rV[F]_d -> V) : V :=
  if k is k'.+1 then mean k' (fun i e => \sum_j P i j *: f j (row j Phi + decay *: e))
  else \sum_i xi p 0 i *: f i (row i Phi).

(* Row j of phi_bar is the mean feature under the target policy in the state of pair j. *)
Variable phi_bar : 'M[F]_(n, d).

(* Eq. (22) and Eq. (23) for one step from pair i to pair j with trace e. *)
Definition sampled_change i j : 'rV[F]_d :=
  gamma p *: (sigma *: row j Phi + (1 - sigma) *: row j phi_bar) - row i Phi.
Definition sampled_v j (e : 'rV[F]_d) : 'M[F]_d :=
  ((sigma * (1 - lam)) *: row j Phi + (1 - sigma) *: (row j phi_bar - lam *: row j Phi))^T *m e.

(* E[e_k Delta_k'] and gamma E[v_k], the next pair drawn as well. *)
Definition A_at k : 'M_d := mean k (fun i e => \sum_j P i j *: (e^T *m sampled_change i j)).
Definition gamma_v_at k : 'M_d := gamma p *: mean k (fun i e => \sum_j P i j *: sampled_v j e).

Hypothesis stationary : xi p *m P = xi p.
Hypothesis rows_one : forall i, \sum_j P i j = 1.
Hypothesis bar : P *m phi_bar = p_pi p *m Phi.

(* Expectation is linear. *)
Lemma eq_mean (V : lmodType F) k (f g : 'I_n -> 'rV[F]_d -> V) : f =2 g -> mean k f = mean k g.
Proof.
elim: k f g => [|k IH] f g fg /=; first by apply: eq_bigr => i _; rewrite fg.
by apply: IH => i e; apply: eq_bigr => j _; rewrite fg.
Qed.

Lemma mean_linear (V W : lmodType F) (L : {linear V -> W}) k f : mean k (fun i e => L (f i e)) = L (mean k f).
Proof.
elim: k f => [|k IH] f /=; first by rewrite linear_sum; apply: eq_bigr => i _; rewrite linearZ.
by rewrite -IH; apply: eq_mean => i e; rewrite linear_sum; apply: eq_bigr => j _; rewrite linearZ.
Qed.

Lemma meanD (V : lmodType F) k (f g : 'I_n -> 'rV[F]_d -> V) :
  mean k (fun i e => f i e + g i e) = mean k f + mean k g.
Proof.
elim: k f g => [|k IH] f g /=; first by rewrite -big_split; apply: eq_bigr => i _; rewrite scalerDr.
by rewrite -IH; apply: eq_mean => i e; rewrite -big_split; apply: eq_bigr => j _; rewrite scalerDr.
Qed.

(* At every time the pair has the stationary law. *)
Lemma mean_pair (V : lmodType F) k (f : 'I_n -> V) : mean k (fun i _ => f i) = \sum_i xi p 0 i *: f i.
Proof.
elim: k f => [//|k IH] f /=; rewrite IH; under eq_bigr do rewrite scaler_sumr.
rewrite exchange_big; apply: eq_bigr => j _; rewrite -[in RHS]stationary mxE scaler_suml.
by apply: eq_bigr => i _; rewrite scalerA.
Qed.

(* The trace weights at time k, and the mean of any product of a vector of the pair with the trace. *)
Definition X_at k : 'M[F]_(n, d) := mean k (fun i e => delta_mx i 0 *m e).

Lemma row_delta m (Y : 'M[F]_(n, m)) i : (row i Y)^T = Y^T *m delta_mx i 0.
Proof. by rewrite tr_row colE. Qed.

Lemma mean_trace m (Y : 'M[F]_(n, m)) k : mean k (fun i e => (row i Y)^T *m e) = Y^T *m X_at k.
Proof.
rewrite -(mean_linear [linear of mulmx Y^T]); apply: eq_mean => i e /=.
by rewrite row_delta mulmxA.
Qed.

Lemma weigh_rows : \sum_i xi p 0 i *: (delta_mx i 0 *m row i Phi) = Xi p *m Phi.
Proof.
rewrite /Xi mul_diag_mx; apply/matrixP => i j; rewrite summxE (bigD1 i) //= big1 => [|k neq].
  by rewrite addr0 !mxE big_ord1 !mxE !eqxx mul1r.
by rewrite !mxE big_ord1 !mxE eq_sym (negPf neq) mul0r mulr0.
Qed.

Lemma X_at_next k : X_at k.+1 = Xi p *m Phi + decay *: (P^T *m X_at k).
Proof.
rewrite -weigh_rows -(mean_pair k.+1) -mean_trace -(mean_linear [linear of *:%R decay]) /X_at /= -meanD.
apply: eq_mean => i e /=; rewrite [row i P]row_sum_delta linear_sum mulmx_suml scaler_sumr -big_split /=.
apply: eq_bigr => j _; rewrite mulmxDr scalerDr -scalemxAr [(_ *: delta_mx _ _)^T]linearZ /= trmx_delta mxE -scalemxAl.
by rewrite !scalerA mulrC.
Qed.

(* What a step adds to the trace weights is what is left of the first feature. *)
Definition remains k (Y : 'M[F]_(n, d)) := iter k (fun Z => decay *: (P^T *m Z)) Y.

Lemma X_at_growth k : X_at k.+1 = X_at k + remains k.+1 (Xi p *m Phi).
Proof.
have X0 : X_at 0 = Xi p *m Phi := weigh_rows.
elim: k => [|k IH]; first by rewrite X_at_next X0.
by rewrite X_at_next {1}IH mulmxDr scalerDr addrA -X_at_next.
Qed.

(* The mean over the next pair of a product with the trace. *)
Lemma mean_next i (Y : 'M[F]_(n, d)) (e : 'rV_d) :
  \sum_j P i j *: ((row j Y)^T *m e) = (row i (P *m Y))^T *m e.
Proof.
have -> : row i (P *m Y) = \sum_j P i j *: row j Y.
  by rewrite row_mul [row i P]row_sum_delta mulmx_suml; apply: eq_bigr => j _; rewrite -scalemxAl -rowE mxE.
rewrite [(\sum_j _)^T]linear_sum mulmx_suml; apply: eq_bigr => j _ /=.
by rewrite [(_ *: row j Y)^T]linearZ /= -scalemxAl.
Qed.

Lemma gamma_v_at_X k : gamma_v_at k =
  gamma p *: ((sigma * (1 - lam)) *: (P *m Phi)
              + (1 - sigma) *: (p_pi p *m Phi - lam *: (P *m Phi)))^T *m X_at k.
Proof.
rewrite /gamma_v_at -scalemxAl -mean_trace; congr (_ *: _); apply: eq_mean => i e.
rewrite -bar !scalemxAr -mulmxBr scalemxAr -mulmxDr -mean_next; apply: eq_bigr => j _.
by rewrite /sampled_v; congr (_ *: (_^T *m _)); apply/rowP => l; rewrite !mxE.
Qed.

Lemma A_at_X k : (A_at k)^T = (gamma p *: (p_nu p sigma *m Phi) - Phi)^T *m X_at k.
Proof.
rewrite -mean_trace /A_at -[LHS]/([linear of trmx] _) -mean_linear /=; apply: eq_mean => i e.
have -> : gamma p *: (p_nu p sigma *m Phi) = P *m (gamma p *: (sigma *: Phi + (1 - sigma) *: phi_bar)).
  by rewrite -scalemxAr mulmxDr -!scalemxAr bar /p_nu /mix mulmxDl -!scalemxAl addrC.
rewrite [row i (_ - _)]linearB [(_ - _)^T]linearB mulmxBl /= -mean_next linear_sum /=.
under eq_bigr => j _ do rewrite linearZ /= trmx_mul trmxK [(sampled_change i j)^T]linearB /= mulmxBl scalerBr.
rewrite sumrB -scaler_suml rows_one scale1r; congr (_ - _); apply: eq_bigr => j _.
by congr (_ *: (_^T *m _)); apply/rowP => l; rewrite !mxE.
Qed.

(* The defect of Proposition 1 while the trace is young. *)
Theorem young_trace k :
  M p + (A_at k)^T - gamma_v_at k = Phi^T *m remains k.+1 (Xi p *m Phi).
Proof.
have -> : remains k.+1 (Xi p *m Phi) = Xi p *m Phi + decay *: (P^T *m X_at k) - X_at k.
  by rewrite -X_at_next X_at_growth addrC addKr.
rewrite A_at_X gamma_v_at_X v_collected -scalemxAl -[decay *: _]scalerA.
have trB (Y Z : 'M[F]_(n, d)) : (Y - Z)^T = Y^T - Z^T by rewrite linearB.
have trZ c (Y : 'M[F]_(n, d)) : (c *: Y)^T = c *: Y^T by rewrite linearZ.
rewrite !(trB, trZ).
rewrite mulmxBr mulmxDr mulmxA -/(M p) !mulmxBl -!scalemxAl scalerBr -!scalemxAr !trmx_mul !mulmxA.
by rewrite -addrA -[RHS]addrA opprB [X in _ + X]addrC subrKA.
Qed.

(* The young trace is the stationary one up to what remains of it. *)
Theorem trace_ages k : valid p lam -> X p lam - X_at k = remains k.+1 (X p lam).
Proof.
move=> /trace_balance balance; elim: k => [|k IH].
  by rewrite {1}balance /remains /= [X_at 0]weigh_rows addrC addKr.
by rewrite {1}balance X_at_next /remains iterS -/(remains _ _) -IH mulmxBr scalerBr opprD addrACA subrr add0r.
Qed.

(* So the sampled update has, at age k, the mean of the stationary one up to a term with (gamma lam)^(k+1). *)
Theorem A_at_gap k : valid p lam ->
  (A p sigma lam - A_at k)^T = (gamma p *: (p_nu p sigma *m Phi) - Phi)^T *m remains k.+1 (X p lam).
Proof.
move=> ok; rewrite -trace_ages // mulmxBr -A_at_X [LHS]linearB /=; congr (_ - _).
by rewrite A_tr [in RHS]linearB mulmxBl [in RHS]linearZ /= -scalemxAl.
Qed.
End Process.

(* On pairs the hypothesis [bar] above holds: phi_bar averages the features of a state over the target policy. *)
Section TargetMean.
Variables (F : realFieldType) (states actions d : nat).
Variables (trans : 'M[F]_(states * actions, states)) (pi mu : 'M[F]_(states, actions)).
Variable Phi : 'M[F]_(states * actions, d).

Definition target_mean : 'M[F]_(states * actions, d) :=
  \matrix_(k, l) \sum_a pi (state_of k) a * Phi (mxvec_index (state_of k) a) l.

Theorem target_mean_chain : stochastic mu -> pair_chain trans mu *m target_mean = pair_chain trans pi *m Phi.
Proof.
move=> [_ mu1]; apply/matrixP => i l; rewrite !mxE !sum_pairs; apply: eq_bigr => s _.
under eq_bigr do rewrite !mxE /state_of /action_of pair_of_index /=.
under [RHS]eq_bigr do rewrite !mxE /state_of /action_of pair_of_index -mulrA /=.
by rewrite -mulr_suml -!mulr_sumr mu1 mulr1.
Qed.
End TargetMean.
