(* Finite chains on state-action pairs.

   Proved here: the chain of a policy is affine in the policy; the chain of a
   policy is a stochastic matrix; 1 - c P is invertible for a stochastic P and
   0 <= c < 1.

   F is any ordered field, for instance the rationals or the reals. *)

From mathcomp Require Import all_ssreflect all_algebra.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Chains.
Variable F : realFieldType.

(* Rows are probability distributions. *)
Definition stochastic m n (P : 'M[F]_(m, n)) :=
  (forall i j, 0 <= P i j) /\ (forall i, \sum_j P i j = 1).

(* The mixture (1 - sigma) a + sigma b, of policies or of chains. *)
Definition mix m n (sigma : F) (a b : 'M[F]_(m, n)) := (1 - sigma) *: a + sigma *: b.

Lemma mix_stochastic m n sigma (a b : 'M[F]_(m, n)) :
  0 <= sigma <= 1 -> stochastic a -> stochastic b -> stochastic (mix sigma a b).
Proof.
move=> /andP[s0 s1] [a0 a1] [b0 b1]; split=> [i j|i].
  by rewrite !mxE addr_ge0 // mulr_ge0 // subr_ge0.
under eq_bigr do rewrite !mxE.
by rewrite big_split /= -!mulr_sumr a1 b1 !mulr1 subrK.
Qed.

Section Pairs.
Variables states actions : nat.

(* Pairs (s, a) are numbered, as rows of matrices are; these two go back. *)
Definition pair_of (k : 'I_(states * actions)) : 'I_states * 'I_actions :=
  enum_val (cast_ord (esym (mxvec_cast states actions)) k).
Definition state_of k := (pair_of k).1.
Definition action_of k := (pair_of k).2.

Lemma pair_of_index s a : pair_of (mxvec_index s a) = (s, a).
Proof. by rewrite /pair_of cast_ordK enum_rankK. Qed.

(* A sum over pairs is a sum over states and actions. *)
Lemma sum_pairs (f : 'I_(states * actions) -> F) : \sum_k f k = \sum_s \sum_a f (mxvec_index s a).
Proof. by rewrite (reindex _ (curry_mxvec_bij _ _)) pair_bigA; apply: eq_bigr => -[]. Qed.

(* P^nu((s, a), (s', a')) = p(s' | s, a) nu(a' | s'). *)
Definition pair_chain (p : 'M[F]_(states * actions, states)) (nu : 'M[F]_(states, actions)) :
    'M[F]_(states * actions) :=
  \matrix_(i, j) (p i (state_of j) * nu (state_of j) (action_of j)).

(* The chain of the mixture policy is the mixture of the chains. *)
Theorem pair_chain_mixture p sigma (pi mu : 'M[F]_(states, actions)) :
  pair_chain p (mix sigma pi mu) = mix sigma (pair_chain p pi) (pair_chain p mu).
Proof. by apply/matrixP=> i j; rewrite !mxE mulrDr !(mulrCA (p _ _)). Qed.

(* Transition probabilities and a policy make a chain. *)
Theorem pair_chain_stochastic p (nu : 'M[F]_(states, actions)) :
  stochastic p -> stochastic nu -> stochastic (pair_chain p nu).
Proof.
move=> [p0 p1] [nu0 nu1]; split=> [i j|i]; first by rewrite mxE mulr_ge0.
rewrite -[RHS](p1 i) sum_pairs; apply: eq_bigr => s _.
under eq_bigr do rewrite mxE /state_of /action_of pair_of_index /=.
by rewrite -mulr_sumr nu1 mulr1.
Qed.
End Pairs.

(* A vector that is c times its own average, c < 1, is zero: look at its largest entry. *)
Lemma discounted_kernel n (P : 'M[F]_n) c (x : 'cV[F]_n) :
  stochastic P -> 0 <= c < 1 -> x = c *: (P *m x) -> x = 0.
Proof.
move=> [P0 P1] /andP[c0 c1] fix_x; case: n P x P0 P1 fix_x => [|n] P x P0 P1 fix_x.
  by apply/matrixP=> -[].
have [k _ largest] := @arg_maxP _ _ _ ord0 xpredT (fun i => `|x i 0|) isT.
have bound : `|x k 0| <= c * `|x k 0|.
  have {1}-> : x k 0 = c * \sum_j P k j * x j 0 by rewrite {1}fix_x !mxE.
  rewrite normrM (ger0_norm c0) ler_wpmul2l //; apply: le_trans (ler_norm_sum _ _ _) _.
  rewrite -[leRHS]mul1r -(P1 k) mulr_suml; apply: ler_sum => j _.
  by rewrite normrM (ger0_norm (P0 _ _)) ler_wpmul2l ?P0 //; apply: largest.
have top : `|x k 0| <= 0.
  by rewrite -(@pmulr_rle0 _ (1 - c)) ?subr_gt0 // mulrBl mul1r subr_le0.
by apply/colP=> i; rewrite mxE; apply/eqP; rewrite -normr_le0 (le_trans _ top) //; apply: largest.
Qed.

(* Hence 1 - c P is invertible. *)
Theorem discounted_unit n (P : 'M[F]_n) c :
  stochastic P -> 0 <= c < 1 -> 1%:M - c *: P \in unitmx.
Proof.
move=> sP c01; rewrite -unitmx_tr -row_free_unit -kermx_eq0; apply/eqP/row_matrixP => i; rewrite row0.
have /sub_kermxP k0 := row_sub i (kermx (1%:M - c *: P)^T).
apply: trmx_inj; rewrite trmx0; apply: discounted_kernel sP c01 _.
apply/eqP; rewrite -subr_eq0; move/(congr1 trmx): k0.
by rewrite trmx_mul trmxK mulmxBl mul1mx -scalemxAl trmx0 => ->.
Qed.
End Chains.
