"""Round-robin as people do it: a queue, those served go to its end."""


class Queue:
    def __init__(self, clients):
        self.waiting = list(range(clients))

    def next(self, count, present):
        served = [client for client in self.waiting if client in present][:count]
        self.waiting = [client for client in self.waiting if client not in served] + served
        return sorted(served)
