(* How far q of the mixture policy is from q of the target policy, exactly. *)

From mathcomp Require Import all_ssreflect all_algebra.
From GQ Require Import Chains TableFixedPoint.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Bias.
Variables (F : realFieldType) (states actions : nat).
Variables (trans : 'M[F]_(states * actions, states)) (pi mu : 'M[F]_(states, actions)).
Variables (r : 'cV[F]_(states * actions)) (gamma sigma : F).
Let P := pair_chain trans.
Let q := q_of trans r gamma.
Let nu := mix sigma pi mu.

Hypotheses (s_trans : stochastic trans) (s_pi : stochastic pi) (s_mu : stochastic mu).
Hypotheses (g01 : 0 <= gamma < 1) (s01 : 0 <= sigma <= 1).

Let s_nu : stochastic nu := mix_stochastic s01 s_pi s_mu.

Lemma bellman eta : stochastic eta -> r = (1%:M - gamma *: P eta) *m q eta.
Proof. by move=> s_eta; rewrite mulKVmx // discounted_unit //; apply: pair_chain_stochastic. Qed.

(* The two systems differ by gamma sigma (P^mu - P^pi). *)
Lemma drift : (1%:M - gamma *: P pi) - (1%:M - gamma *: P nu) = (gamma * sigma) *: (P mu - P pi).
Proof.
rewrite opprB addrC addrA subrK /P /nu pair_chain_mixture -scalerBr -scalerA; congr (_ *: _).
by rewrite /mix scalerBl scale1r scalerBr addrAC [X in X + _]addrAC subrr add0r addrC.
Qed.

(* The book's form, with the inverse of the mixture's system and q of the target. *)
Theorem exact_bias :
  q nu - q pi
  = (gamma * sigma) *: (invmx (1%:M - gamma *: P nu) *m ((P mu - P pi) *m q pi)).
Proof.
have unit := discounted_unit (pair_chain_stochastic s_trans s_nu) g01.
by rewrite scalemxAr scalemxAl -drift mulmxBl -bellman // mulmxBr mulKmx.
Qed.

(* The same with the two policies' parts exchanged. *)
Theorem exact_bias_dual :
  q nu - q pi
  = (gamma * sigma) *: (invmx (1%:M - gamma *: P pi) *m ((P mu - P pi) *m q nu)).
Proof.
have unit := discounted_unit (pair_chain_stochastic s_trans s_pi) g01.
by rewrite scalemxAr scalemxAl -drift mulmxBl -(bellman s_nu) mulmxBr mulKmx.
Qed.
End Bias.
