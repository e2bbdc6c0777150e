"""The paper in a hundred lines of NumPy, without gqlib: what GQ(σ, λ) is for, what it does, and where it ends.

Run it, change it: `python start_here.py`. Equation numbers are those of Yang et al. (2019), arXiv:1909.02877.

Two states; `right` leads to the second, `left` to the first. The behaviour μ takes either with probability ½, the
target π always goes right, and q^π is to be learned from what μ does (Figure 1, with rewards). Each weight stands for
one action, and the second state has twice the feature of the first: enough for the expected update to diverge.
"""

import numpy as np

GAMMA, LAM, SIGMA = 0.99, 0.3, 0.25
ALPHA, BETA = 0.005, 0.01  # of θ and ω; as they stay, so does an error of their order
RIGHT, LEFT = 0, 1
MU = np.array([0.5, 0.5])  # μ(a|s) and π(a|s) are the same in both states
PI = np.array([1.0, 0.0])
REWARDS = np.array([[1.0, 0.0], [0.0, -1.0]])  # r(s, a)


def phi(state, action):
    """φ(s, a): (1, 0) or (0, 1), and twice as much in the second state."""
    return (1.0 + state) * np.eye(2)[action]


def expected(state):
    """E_πφ(s, ·) = Σ_a π(a|s) φ(s, a)."""
    return PI @ [phi(state, action) for action in (RIGHT, LEFT)]


# ---------------------------------------------------------------- what the mean of a long run does


def exact(sigma):
    """A_σ, b and M after Eqs. (15) and (19): the mean of e Δᵀ, of e R and of φφᵀ, pairs numbered 2s + a."""
    features = np.array([phi(s, a) for s in (0, 1) for a in (RIGHT, LEFT)])
    reached = np.array([1, 0, 1, 0])  # the state after each pair
    p_mu, p_pi = np.zeros((4, 4)), np.zeros((4, 4))
    for pair in range(4):
        p_mu[pair, 2 * reached[pair] : 2 * reached[pair] + 2] = MU
        p_pi[pair, 2 * reached[pair] : 2 * reached[pair] + 2] = PI
    xi = np.full(4, 0.25)  # how often μ visits each pair
    trace = features.T * xi @ np.linalg.inv(np.eye(4) - GAMMA * LAM * p_mu)
    mixed = sigma * p_mu + (1.0 - sigma) * p_pi
    a = trace @ (GAMMA * mixed - np.eye(4)) @ features
    return a, trace @ REWARDS.ravel(), features.T * xi @ features


# ---------------------------------------------------------------- what one step does


def q_sigma_step(theta, trace, seen):
    """Semi-gradient Q(σ, λ), the backward view of Eq. (10); `seen` is φ, R, φ', E_πφ'."""
    now, reward, later, mean = seen
    trace = GAMMA * LAM * trace + now  # e_k = γλ e_{k−1} + φ_k
    delta = reward + GAMMA * theta @ (SIGMA * later + (1 - SIGMA) * mean) - theta @ now
    return theta + ALPHA * delta * trace, trace


def gq_step(theta, omega, trace, seen):
    """GQ(σ, λ), Algorithm 1: the gradient of the MSPBE, Eq. (19), with ω in place of M⁻¹(A_σ θ + b)."""
    now, reward, later, mean = seen
    trace = GAMMA * LAM * trace + now
    delta = reward + GAMMA * theta @ (SIGMA * later + (1 - SIGMA) * mean) - theta @ now
    braces = SIGMA * (1 - LAM) * later + (1 - SIGMA) * (mean - LAM * later)  # v = braces eᵀ, (23)
    change = ALPHA * (delta * trace - GAMMA * braces * (trace @ omega))  # (26)
    omega = omega + BETA * (delta * trace - now * (now @ omega))  # (25)
    return theta + change, omega, trace


def walk(steps, rng):
    """What is seen along a trajectory of μ."""
    state, action = 0, rng.choice(2, p=MU)
    for _ in range(steps):
        reached, following = (1 if action == RIGHT else 0), rng.choice(2, p=MU)
        yield phi(state, action), REWARDS[state, action], phi(reached, following), expected(reached)
        state, action = reached, following


def learn(steps=150_000, seed=0):
    """θ of both methods after so many steps; the semi-gradient one stops when it has diverged."""
    theta, omega, trace = np.array([2.0, 0.0]), np.zeros(2), np.zeros(2)
    semi, semi_trace = theta, trace
    for seen in walk(steps, np.random.default_rng(seed)):
        theta, omega, trace = gq_step(theta, omega, trace, seen)
        if np.abs(semi).max() < 1e6:
            semi, semi_trace = q_sigma_step(semi, semi_trace, seen)
    return theta, semi


if __name__ == "__main__":
    matrix, vector, _ = exact(SIGMA)
    print("eigenvalues of A_σ, one above 0:", np.linalg.eigvals(matrix).round(3))
    print("where A_σ θ + b = 0:          θ =", np.linalg.solve(matrix, -vector).round(2))
    learned, diverged = learn()
    print("GQ(σ, λ), 150,000 steps:      θ =", learned.round(2))
    print("semi-gradient Q(σ, λ):        θ =", diverged.round(2))
