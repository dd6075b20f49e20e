import BrokerHarness
import StrictCoding
import Testing

extension Fixture {
    /// Expects the one answer to all refusals that depend on state, and its reason in the audit.
    func expectUnusable(
        _ answer: HTTPAnswer, _ reason: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        #expect(answer.text == AnswerContract.unusableBody, "\(reason)", sourceLocation: sourceLocation)
        #expect(try await sql.auditedReason(of: answer.requestID) == reason, sourceLocation: sourceLocation)
    }

    func expectUnusable(
        _ form: TokenForm, _ reason: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await expectUnusable(try await running.token(form), reason, sourceLocation: sourceLocation)
    }

    /// Expects a grant. The refresh token of the answer, if it has one.
    @discardableResult
    func expectGranted(
        _ form: TokenForm, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let answer = try await running.token(form)
        #expect(answer.status == 200, "\(answer.text)", sourceLocation: sourceLocation)
        return answer.json?.string("refresh_token") ?? ""
    }

    /// Expects that `send` refuses each token for its reason. No table changes and no log or audit has a token.
    /// The login lives on.
    func expectRefusals(
        _ tokens: [TokenAttack.Forged], of login: Login, _ send: (String) async throws -> HTTPAnswer
    ) async throws {
        let traces = try Traces(self)
        let before = try await digest()
        var secrets = SecretSearch()
        var requestIDs: [String] = []
        var undecided: Set<String> = []
        for (name, token, reason) in tokens {
            let answer = try await send(token)
            if answer.isUndecided, Verdict.mayBeUndecided(insteadOf: reason) {
                undecided.insert(answer.requestID)
            } else {
                #expect((400..<404).contains(answer.status), "\(name): \(answer.text)")
            }
            requestIDs.append(answer.requestID)
            // Something as short as a word would be found anywhere.
            if token.utf8.count > 100 { secrets.add(token, name) }
        }
        let found = try await auditedReasons(of: requestIDs.filter { !undecided.contains($0) })
        for (requestID, token) in zip(requestIDs, tokens) where !undecided.contains(requestID) {
            #expect(found[requestID] == token.reason, "\(token.name)")
        }
        #expect(try await digest() == before, "the registry changed")
        #expect(secrets.findings(in: try await traces.text(ofRequests: requestIDs, self)).isEmpty)
        try await expectGranted(try logins.exchange(login))
    }
}
