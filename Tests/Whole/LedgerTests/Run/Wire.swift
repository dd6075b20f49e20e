import BrokerHarness

/// The way from the apps to the brokers, on which answers get lost; it writes the ledger.
struct Wire: Sendable {
    /// What becomes of a request.
    enum Fate: Sendable {
        case arrives
        /// The answer is lost on its last step: the app knows nothing, and nothing is under way any more.
        case losesAnswer
        /// The app is gone once it has sent.
        case losesApp
    }

    /// The app's knowledge afterwards.
    enum Knowledge: Sendable {
        case outcome(LedgerEntry.Outcome)
        /// Nothing. What was sent has run its course if it is settled; otherwise it may still happen.
        case nothing(isSettled: Bool)
    }

    let ledger: Ledger
    let brokers: [Broker]

    func send(
        _ act: LedgerEntry.Act, _ form: TokenForm, session: String, app: String, to broker: Int, _ fate: Fate = .arrives
    ) async -> Knowledge {
        let sentAt = ledger.now
        var (outcome, request, isSettled) = (LedgerEntry.Outcome.unknown, "", false)
        do {
            let connection = try await HTTPConnection.open(port: brokers[broker].publicPort)
            try await connection.send(HTTPRequest.token(form.parameters).octets)
            if fate == .losesApp {
                connection.abort()
            } else if let answer = try await connection.receive() {
                (outcome, request) = (answer.outcome, answer.requestID)
            }
        } catch HTTPFailure.refused {
            isSettled = true  // nobody was there
        } catch HTTPFailure.notHTTP(let what) {
            outcome = .unexpected(what)
        } catch HTTPFailure.silence {
            outcome = .unexpected("nothing for half a minute")
        } catch {}  // cut off
        let isLost = fate == .losesAnswer && outcome != .unknown
        ledger.record(
            LedgerEntry(
                session: session, app: app, act: act, outcome: outcome, broker: broker, request: request,
                isLost: isLost,
                isAbandoned: fate == .losesApp, sentAt: sentAt, answeredAt: ledger.now))
        return isLost || outcome == .unknown ? .nothing(isSettled: isSettled || isLost) : .outcome(outcome)
    }
}
