"""Double Q-learning with lists: a network of two layers, its targets, and one step of descent by hand."""

from math import tanh


def layers(net, x):
    inward, bias, outward, shift = net
    hidden = [tanh(sum(x[i] * inward[i][h] for i in range(len(x))) + bias[h]) for h in range(len(bias))]
    return hidden, [sum(hidden[h] * outward[h][a] for h in range(len(bias))) + shift[a] for a in range(2)]


def target(online, fixed, reward, after, discount):
    values = layers(online, after)[1]
    return reward + discount * layers(fixed, after)[1][values.index(max(values))]


def step(net, states, actions, targets, rate):
    inward, bias, outward, shift = ([list(row) if isinstance(row, list) else row for row in part] for part in net)
    for x, action, aim in zip(states, actions, targets, strict=True):
        hidden, values = layers(net, x)
        error = (values[action] - aim) / len(states)
        for h, value in enumerate(hidden):
            below = error * net[2][h][action] * (1 - value**2)
            for i, given in enumerate(x):
                inward[i][h] -= rate * given * below
            bias[h] -= rate * below
            outward[h][action] -= rate * value * error
        shift[action] -= rate * error
    return inward, bias, outward, shift
