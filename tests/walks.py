"""What a long walk says about A_σ, b and M, with standard errors by batch means."""

import numpy as np


def batch_estimates(path, sigma, lam, gamma, batches=100):
    """Estimates and standard errors of [A_σ | b | M], each (d, 2d + 1), from one trajectory."""
    mixed = path.phi_next_expected + sigma * (path.phi_next - path.phi_next_expected)
    traces, trace = np.empty_like(path.phi), np.zeros(path.phi.shape[1])
    for k, phi in enumerate(path.phi):
        trace = traces[k] = gamma * lam * trace + phi
        trace = trace * (not path.ends[k])
    cut = len(path) // batches
    rows = []
    for first in range(0, cut * batches, cut):
        part = slice(first, first + cut)
        e, phi = traces[part], path.phi[part]
        a, b, m = e.T @ (gamma * mixed[part] - phi), e.T @ path.reward[part], phi.T @ phi
        rows.append(np.column_stack([a, b, m]) / cut)
    return np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) / np.sqrt(batches)


def assert_samples(path, problem, sigma, lam):
    """Every entry within five standard errors."""
    mean, error = batch_estimates(path, sigma, lam, problem.gamma)
    exact = np.column_stack([problem.A(sigma, lam), problem.b(sigma, lam), problem.M])
    assert (np.abs(mean - exact) < 5 * error + 1e-12).all()
