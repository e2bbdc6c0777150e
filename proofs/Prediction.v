(* A linear prediction problem and the exact objects of the book, as definitions.

   The names are those of gqlib.prediction: p_mu and p_pi are the chains of
   behaviour and target on pairs, xi the visiting weights, sigma the degree of
   sampling, lam the decay of the trace. Vectors are columns. *)

From mathcomp Require Import all_ssreflect all_algebra.
From GQ Require Import Chains.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Prediction.
Variables (F : realFieldType) (n d : nat).

Record problem := Problem {
  features : 'M[F]_(n, d);
  p_mu : 'M[F]_n;
  p_pi : 'M[F]_n;
  rewards : 'cV[F]_n;
  xi : 'rV[F]_n;
  gamma : F
}.

Definition valid (p : problem) (lam : F) :=
  [/\ stochastic (p_mu p), stochastic (p_pi p), forall i, 0 <= xi p 0 i, 0 <= gamma p < 1 & 0 <= lam <= 1].

Variables (p : problem) (sigma lam : F).

Definition Xi : 'M_n := diag_mx (xi p).
Definition p_nu : 'M_n := mix sigma (p_pi p) (p_mu p).
Definition resolvent : 'M_n := invmx (1%:M - (gamma p * lam) *: p_mu p).

(* A = Phi' Xi (1 - gamma lam P^mu)^-1 (gamma P^nu - 1) Phi, the line before Eq. (15). *)
Definition A : 'M_d := (features p)^T *m Xi *m resolvent *m (gamma p *: p_nu - 1%:M) *m features p.

(* b = Phi' Xi (1 - gamma lam P^mu)^-1 r, Eq. (15) corrected. *)
Definition b : 'cV_d := (features p)^T *m Xi *m resolvent *m rewards p.

(* M = Phi' Xi Phi. *)
Definition M : 'M_d := (features p)^T *m Xi *m features p.

(* The expected update A theta + b. *)
Definition update (theta : 'cV_d) : 'cV_d := A *m theta + b.

(* The mixed operator of Eq. (9). *)
Definition operator (q : 'cV_n) : 'cV_n := q + resolvent *m (rewards p + gamma p *: (p_nu *m q) - q).

(* The trace weights: row i is xi_i times the mean trace on arrival at pair i. *)
Definition X : 'M_(n, d) := invmx (1%:M - (gamma p * lam) *: (p_mu p)^T) *m Xi *m features p.

(* gamma E[v], from Eq. (23). *)
Definition gamma_v : 'M_d :=
  gamma p *: ((sigma * (1 - lam)) *: (p_mu p *m features p)
              + (1 - sigma) *: (p_pi p *m features p - lam *: (p_mu p *m features p)))^T *m X.

(* x' W x, the squared length of x in the weights W. *)
Definition form m (W : 'M[F]_m) (x : 'cV[F]_m) : F := (x^T *m W *m x) 0 0.

(* MSPBE of Eq. (19), with N in the place of the inverse of M. *)
Definition mspbe (N : 'M_d) (theta : 'cV_d) : F := 2%:R^-1 * form N (update theta).

Lemma valid_resolvent : valid p lam -> 1%:M - (gamma p * lam) *: p_mu p \in unitmx.
Proof.
move=> [sP _ _ /andP[g0 g1] /andP[l0 l1]]; apply: discounted_unit => //.
by rewrite mulr_ge0 //= (le_lt_trans _ g1) // ler_pimulr.
Qed.

Lemma X_tr : X^T = (features p)^T *m Xi *m resolvent.
Proof. by rewrite /X !trmx_mul trmx_inv linearB linearZ /= trmxK trmx1 tr_diag_mx mulmxA. Qed.

Lemma M_tr : M^T = M.
Proof. by rewrite /M !trmx_mul trmxK tr_diag_mx mulmxA. Qed.

(* The expected update is Phi' Xi (B Phi theta - Phi theta). *)
Lemma update_operator theta :
  update theta = (features p)^T *m Xi *m (operator (features p *m theta) - features p *m theta).
Proof.
rewrite /update /A /b /operator [X in _ *m (X - _)]addrC addrK addrC -!mulmxA -!mulmxDr.
by rewrite mulmxBl mul1mx -scalemxAl addrA.
Qed.
End Prediction.
