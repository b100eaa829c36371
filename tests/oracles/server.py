"""Server optimizers number by number, after Algorithm 2 of Reddi et al. (2021) and FedAvgM of Hsu et al. (2019)."""

import math


class Server:
    def __init__(self, start, how, lr, momentum, decay, tau):
        self.x = list(start)
        self.m = [0.0 for _ in start]
        self.v = [tau**2 for _ in start]
        self.how, self.lr, self.momentum, self.decay, self.tau = how, lr, momentum, decay, tau

    def step(self, models, counts):
        """A round that brought these models."""
        for i in range(len(self.x)):
            delta = sum(n * (model[i] - self.x[i]) for n, model in zip(counts, models, strict=True)) / sum(counts)
            if self.how == "momentum":
                self.m[i] = self.momentum * self.m[i] + delta
                self.x[i] += self.lr * self.m[i]
                continue
            self.m[i] = self.momentum * self.m[i] + (1 - self.momentum) * delta
            if self.how == "adagrad":
                self.v[i] += delta**2
            elif self.how == "adam":
                self.v[i] = self.decay * self.v[i] + (1 - self.decay) * delta**2
            elif self.v[i] > delta**2:
                self.v[i] -= (1 - self.decay) * delta**2
            elif self.v[i] < delta**2:
                self.v[i] += (1 - self.decay) * delta**2
            self.x[i] += self.lr * self.m[i] / (math.sqrt(self.v[i]) + self.tau)
