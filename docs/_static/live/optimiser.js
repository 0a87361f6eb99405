"use strict";
/**
 * Adam with clipped gradients:
 *   g ← min(1, v / |g|) g                            all gradients as one vector, |g| its length (R:463, corrected)
 *   m ← β₁ m + (1 - β₁) g,   s ← β₂ s + (1 - β₂) g²           running means of the gradient and of its square
 *   θ ← θ - η (m / (1 - β₁ᵏ)) / (√(s / (1 - β₂ᵏ)) + ε)        in step k = 1, 2, ... (Kingma & Ba 2015, algorithm 1)
 */
class Adam {
  /** An optimiser of `weights`, an object of arrays; `rate` is η. */
  constructor(weights, rate, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8) {
    Object.assign(this, { weights, rate, beta1, beta2, epsilon, step: 0 });
    this.means = zerosLike(weights);
    this.squares = zerosLike(weights);
  }
  /** Changes the weights by one step; `gradients` has an array for each of the weights. */
  update(gradients) {
    this.step++;
    const { beta1, beta2, epsilon } = this;
    const correction1 = 1 - beta1 ** this.step;
    const correction2 = 1 - beta2 ** this.step;
    for (const [name, theta] of Object.entries(this.weights)) {
      const g = gradients[name];
      const m = this.means[name];
      const s = this.squares[name];
      for (let i = 0; i < theta.length; i++) {
        m[i] = beta1 * m[i] + (1 - beta1) * g[i];
        s[i] = beta2 * s[i] + (1 - beta2) * g[i] * g[i];
        theta[i] -= (this.rate * (m[i] / correction1)) / (Math.sqrt(s[i] / correction2) + epsilon);
      }
    }
  }
}

/** |g| before clipping; changes `gradients` so that |g| is at most `largest`. */
function clipGradients(gradients, largest) {
  let squares = 0;
  for (const g of Object.values(gradients)) for (const value of g) squares += value * value;
  const norm = Math.sqrt(squares);
  const factor = largest / norm;
  if (factor < 1) for (const g of Object.values(gradients)) for (let i = 0; i < g.length; i++) g[i] *= factor;
  return norm;
}

/** An object of arrays of zeros, as long as those of `arrays`. */
function zerosLike(arrays) {
  return Object.fromEntries(Object.entries(arrays).map(([name, values]) => [name, new Float64Array(values.length)]));
}
