"""An addon of mitmproxy: every third answer is lost after the broker sent it. The client's connection just ends."""


class LoseAnswers:
    def __init__(self):
        self.answers = 0

    def response(self, flow):
        self.answers += 1
        if self.answers % 3 == 0:
            flow.kill()


addons = [LoseAnswers()]
