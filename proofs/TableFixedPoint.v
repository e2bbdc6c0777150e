(* The fixed point of the table is q of the mixture policy, and only that. *)

From mathcomp Require Import all_ssreflect all_algebra.
From GQ Require Import Chains Prediction.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Values.
Variables (F : realFieldType) (n : nat).
Implicit Types (P : 'M[F]_n) (r q x : 'cV[F]_n) (gamma : F).

(* The values of a chain with rewards r. *)
Definition value P r gamma := invmx (1%:M - gamma *: P) *m r.

(* They solve Bellman's equation, and nothing else does. *)
Theorem value_unique P r gamma q : stochastic P -> 0 <= gamma < 1 ->
  q = r + gamma *: (P *m q) <-> q = value P r gamma.
Proof.
move=> sP g01; have unit := discounted_unit sP g01.
have -> : (q = r + gamma *: (P *m q)) <-> ((1%:M - gamma *: P) *m q = r).
  by rewrite mulmxBl mul1mx -scalemxAl; split=> [{1}->|<-]; rewrite ?addrK ?subrK.
by split=> [<-|->]; rewrite /value ?mulKmx ?mulKVmx.
Qed.

(* The average of a vector is no larger than its largest entry. *)
Lemma stochastic_bound P x c : stochastic P -> (forall i, `|x i 0| <= c) -> forall i, `|(P *m x) i 0| <= c.
Proof.
move=> [P0 P1] bound i; rewrite mxE (le_trans (ler_norm_sum _ _ _)) //.
rewrite -[leRHS]mul1r -(P1 i) mulr_suml; apply: ler_sum => j _.
by rewrite normrM (ger0_norm (P0 _ _)) ler_wpmul2l ?P0 ?bound.
Qed.

(* They are the discounted sums of rewards: after k steps what is missing is at most gamma^k times a constant. *)
Theorem value_return P r gamma c k : stochastic P -> 0 <= gamma < 1 ->
    (forall i, `|value P r gamma i 0| <= c) ->
  forall i, `|(value P r gamma - \sum_(t < k) gamma ^+ t *: iter t (mulmx P) r) i 0| <= gamma ^+ k * c.
Proof.
move=> sP g01 bound i; have g0 : 0 <= gamma by case/andP: g01.
suff -> : value P r gamma - \sum_(t < k) gamma ^+ t *: iter t (mulmx P) r
          = gamma ^+ k *: iter k (mulmx P) (value P r gamma).
  rewrite mxE normrM (ger0_norm (exprn_ge0 _ g0)) ler_wpmul2l ?exprn_ge0 //.
  by elim: k i => [//|k IH] i /=; apply: stochastic_bound.
have iterD j x y : iter j (mulmx P) (x + gamma *: (P *m y))
                   = iter j (mulmx P) x + gamma *: iter j.+1 (mulmx P) y.
  by elim: j => [//|j /= ->]; rewrite mulmxDr -scalemxAr.
have /(value_unique _ _ sP g01) bellman := erefl (value P r gamma).
elim: k => [|k IH]; first by rewrite big_ord0 subr0 scale1r.
rewrite big_ord_recr /= opprD addrA IH {1}bellman iterD scalerDr addrAC subrr add0r.
by rewrite scalerA -exprSr.
Qed.
End Values.

Section Table.
Variables (F : realFieldType) (states actions : nat).
Variables (trans : 'M[F]_(states * actions, states)) (pi mu : 'M[F]_(states, actions)).
Variables (r : 'cV[F]_(states * actions)) (xi : 'rV[F]_(states * actions)) (gamma sigma lam : F).

(* The action values of a policy. *)
Definition q_of (nu : 'M[F]_(states, actions)) := value (pair_chain trans nu) r gamma.

(* The prediction problem with one feature for each pair. *)
Definition table := Problem 1%:M (pair_chain trans mu) (pair_chain trans pi) r xi gamma.

(* Where every pair is visited, the update is zero at q of the mixture policy and nowhere else, for every lam. *)
Theorem table_fixed_point theta :
    stochastic trans -> stochastic pi -> stochastic mu ->
    (forall k, 0 < xi 0 k) -> 0 <= gamma < 1 -> 0 <= sigma <= 1 -> 0 <= lam <= 1 ->
  update table sigma lam theta = 0 <-> theta = q_of (mix sigma pi mu).
Proof.
move=> s_trans s_pi s_mu xi0 g01 s01 l01.
have s_nu := pair_chain_stochastic s_trans (mix_stochastic s01 s_pi s_mu).
have ok : valid table lam by split=> //=; do ?[exact: pair_chain_stochastic | move=> i; exact: ltW].
have unit_Xi : Xi table \in unitmx.
  by rewrite unitmxE det_diag unitfE; apply/prodf_neq0 => k _; rewrite gt_eqF ?xi0.
have unit_res : resolvent table lam \in unitmx by rewrite unitmx_inv valid_resolvent.
rewrite /q_of -(value_unique _ _ s_nu g01) pair_chain_mixture update_operator /operator.
rewrite /= trmx1 !mul1mx addrC addKr mulmxA; set core := _ - theta.
have -> : theta = r + gamma *: (mix sigma (pair_chain trans pi) (pair_chain trans mu) *m theta) <-> core = 0.
  by rewrite /core; split=> [{2}->|/eqP]; rewrite ?subrr // subr_eq0 => /eqP.
split=> [|->]; last by rewrite mulmx0.
by move/(congr1 (mulmx (invmx (Xi table *m resolvent table lam)))); rewrite mulmx0 mulKmx // unitmx_mul unit_Xi.
Qed.
End Table.
