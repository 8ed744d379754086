import numpy as np, parzax as px, jax
rng=np.random.default_rng(0)
n=60
x=rng.uniform(size=(n,4))
sp=px.Space({c:px.Float(0,1) for c in "abcd"})
obs=px.Observations.from_arrays(sp,x,(x[:,0]-.3)**2+.3*x[:,1])
r=px.cond_ped_anova(obs,n_resamples=300)
print(r); print(repr(r)); print(r.good_values())
print(px.cond_ped_anova(obs,np.arange(1,50)/50,n_resamples=100))
i=px.interactions(obs); print(i); print(repr(i))
print(px.compare(obs))
print(px.importance_by_objective(obs))
print(px.cond_ped_anova(obs.select(np.arange(60)<15)))
