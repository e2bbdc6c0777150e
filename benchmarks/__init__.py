"""The speed of the library, as ratios measured in one run on one machine: ``python -m benchmarks``.

``engine``      the control engine, and the command
``general``     the engine in its environments
``agents``      agents in Gymnasium's environments
``peers``       other libraries, where they are installed
``costs``       a step of each learner beside Sarsa(λ)
``plain``       what one writes in an hour: the rivals
``prediction``  policy evaluation
``matrices``    A_σ against dense solves
``store``       opening a store
``timing``      the shortest of a few measurements
"""

__all__: list[str] = []
