(* The hypotheses of the theorems can be met: a theorem about nothing would be true as well.

   The problem has two pairs, a behaviour that visits both equally, a target that
   always goes to the first, and one feature, 1 and 2. It is off-policy. *)

From mathcomp Require Import all_ssreflect all_algebra.
From GQ Require Import Chains Prediction Proposition1 GeneralisedInverse StepRatio.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Definition half : rat := 2%:R^-1.
Definition feature : 'M[rat]_(2, 1) := \matrix_(i, j) (i.+1)%:R.
Definition to_first : 'M[rat]_2 := \matrix_(i, j) (j == 0)%:R.
Definition small := Problem feature (const_mx half) to_first (const_mx 1) (const_mx half) half.

Theorem small_valid : valid small half.
Proof.
split=> //=; do ?split.
- by move=> i j; rewrite mxE.
- by move=> i; rewrite !big_ord_recl big_ord0 !mxE.
- by move=> i j; rewrite mxE ler0n.
- by move=> i; rewrite !big_ord_recl big_ord0 !mxE.
- by move=> i; rewrite mxE.
Qed.

Theorem small_stationary : xi small *m p_mu small = xi small.
Proof. by apply/rowP => j; rewrite !mxE !big_ord_recl big_ord0 !mxE. Qed.

Theorem small_target_mean : p_mu small *m const_mx 1 = p_pi small *m features small.
Proof. by apply/matrixP => i j; rewrite !mxE !big_ord_recl !big_ord0 !mxE. Qed.

Theorem small_M_unit : M small \in unitmx.
Proof.
rewrite unitmxE det_mx11 unitfE /M /Xi mul_mx_diag !mxE !big_ord_recl big_ord0 !mxE.
by [].
Qed.

(* One feature, A = M = 1: semi-gradient TD diverges, and J(2) is stable by the theorem. *)
Theorem small_stable (R : rcfType) : hurwitz (joint 1%:M 1%:M 2%:R : 'M[R]_(1 + 1)).
Proof.
apply: joint_stable_form; rewrite ?trmx1 ?unitmx1 ?ltr0n // => x x0.
have -> : 2%:R *: 1%:M - sym 1%:M = 1%:M :> 'M[R]_1.
  by rewrite /sym trmx1 -mulr2n -scaler_nat scalerA mulVf ?pnatr_eq0 // scaler_nat mulr2n scale1r addrK.
rewrite mulmx1 mxE big_ord1 mxE -expr2 lt_def sqr_ge0 andbT sqrf_eq0.
by apply: contraNneq x0 => x0; apply/eqP/rowP => i; rewrite (ord1 i) x0 mxE.
Qed.
