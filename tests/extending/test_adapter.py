"""An adapter to a library that is not one of parzax's: its suggestions are those of the sampler itself."""

import jax
import numpy as np
from compilations import compilations

import parzax as px

# The other library: named parameters, each a list of choices or a pair of bounds; results are maximised.
PARAMETERS = {"rate": (1e-4, 1.0), "layers": (1, 4), "kind": ["tree", "linear"]}


def reward(values):
    kind = 0.5 * (values["kind"] == "tree")
    return kind - (np.log10(values["rate"]) + 2) ** 2 - 0.1 * abs(values["layers"] - 2)


class Adapter:
    """Its ask and tell, in its own words."""

    def __init__(self, parameters, seed):
        self.space = px.Space({name: self._domain(given) for name, given in parameters.items()})
        self.session, self.seed, self.running = px.adapters.Session(px.papers.tpe(self.space)), seed, {}

    def _domain(self, given):
        if isinstance(given, list):
            return px.Categorical(given)
        return px.Int(*given) if isinstance(given[0], int) else px.Float(*given, log=True)

    def ask(self, number):
        pending = [px.adapters.Row(x, None) for x in self.running.values()]
        self.running[number] = self.session.ask(number, key=jax.random.key(self.seed), pending=pending)
        return self.space.as_dict(self.running[number])

    def tell(self, number, result):
        self.session.tell([px.adapters.Row(self.running.pop(number), (-result,))])


def test_a_run_is_that_of_the_sampler():
    """One after the other, and two at once: a suggestion that is not told yet counts as pending."""
    adapter, sampler = Adapter(PARAMETERS, seed=7), px.papers.tpe(Adapter(PARAMETERS, 7).space)
    state = sampler.init(256)
    for number in range(30):
        values = adapter.ask(number)
        key = jax.random.fold_in(jax.random.key(7), number)
        x = np.asarray(sampler.ask(key, state)[0])
        # The adapter makes native values in float64.
        np.testing.assert_allclose(adapter.running[number], x, rtol=1e-5)
        adapter.tell(number, reward(values))
        state = sampler.tell(state, x, -reward(values))
    first, second = adapter.ask(100), adapter.ask(101)
    known = sampler.tell(state, adapter.running[100], np.nan)
    x = np.asarray(sampler.ask(jax.random.fold_in(jax.random.key(7), 101), known)[0])
    np.testing.assert_allclose(adapter.running[101], x, rtol=1e-5)
    assert first != second


def test_one_program_serves_other_names_and_bounds():
    """Compiled once, for 256 rows; and the run is no random search."""
    other = {"step": (1e-6, 10.0), "depth": (1, 4), "form": ["a", "b"]}
    Adapter(PARAMETERS, seed=1).ask(0)
    adapter, found = Adapter(other, seed=1), []
    with compilations() as seen:
        for number in range(60):
            rate, layers, form = adapter.ask(number).values()
            found.append(reward({"rate": rate, "layers": layers, "kind": {"a": "tree", "b": "linear"}[form]}))
            adapter.tell(number, found[-1])
    assert not seen
    assert np.mean(found[30:]) > np.mean(found[:10]) + 1
