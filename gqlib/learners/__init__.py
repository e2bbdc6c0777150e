"""Learners: each is a text of three scalar functions; one step of each, as a pure function; and many runs at once.

``texts``        every learner, written once, and how to write your own
``dense``        the carrier that applies a text to whole vectors
``gq``           semi-gradient Q(σ, λ) and GQ(σ, λ), Eqs. (10), (25) and (26), and Algorithm 1 as printed
``relatives``    the methods that GQ(σ, λ) is related to, one step of each
``gradient_td``  TDC(λ), GTD2 and GQ(λ) of Maei and Sutton, weighted by importance ratios
``corrected``    GQ(σ, λ) with its target mended by an importance ratio in the error
``textbook``     GQ(σ, λ) with its target mended as in the textbook, by σ in the trace; Retrace and other relatives
``sparse``       GQ(σ, λ) at a cost that does not grow with the number of features
``ensemble``     many runs advanced together
``sigma``        ways to set σ over a run
"""

from gqlib.learners.gq import gq_step, gq_step_lagged, gq_steps, mix, semi_gradient_step, v_vector

__all__ = ["gq_step", "gq_step_lagged", "gq_steps", "mix", "semi_gradient_step", "v_vector"]
