import StrictCoding
import BrokerHarness
import Testing

extension Faults {
    /// The grant is committed, and the connection is cut before the answer.
    struct LostAnswerTests {
        /// The grant consumed the assertion. The same request with a new assertion continues where it was.
        @Test func theAssertionIsUsedUpAndTheRequestIsNot() async throws {
            let fixture = try await FaultFixture.shared
            let signer = try await Signer("cut-signer", at: fixture)
            let login = fixture.logins.login()
            let family = """
                SELECT generation FROM native_sso.sso_grant WHERE client_id = '\(signer.id)' AND revoked_at IS NULL
                    AND session_id = (SELECT session_id FROM native_sso.session WHERE sid = sha256('\(login.sid)'))
                """
            let exchange = try fixture.logins.exchange(login)
            let exchanged = try await served(exchange, signer, lostOnce: "\(family) AND generation = 1")
            let refresh = TokenForm.refresh(try #require(exchanged.refreshToken), client: signer.id)
            let sql = try fixture.installation.session()
            let generation = try #require(Int(try await sql.row(family)))
            let refreshed = try await served(refresh, signer, lostOnce: "\(family) AND generation = \(generation + 1)")
            // The successor that was lost, and no further one.
            #expect(try await sql.row(family) == "\(generation + 1)")
            let next = TokenForm.refresh(try #require(refreshed.refreshToken), client: signer.id)
            let answer = try await fixture.broker.token(next.asserted(signer.assertion()))
            #expect(answer.status == 200, "\(answer.text)")
        }

        /// - Parameter committed: Gives a row once the request has done what it is for.
        private func served(
            _ form: TokenForm, _ signer: Signer, lostOnce committed: String
        ) async throws -> HTTPAnswer {
            let fixture = signer.fixture
            let sql = try fixture.installation.session()
            let asked = form.asserted(try signer.assertion())
            let connection = try await HTTPConnection.open(port: fixture.broker.publicPort)
            try await connection.send(HTTPRequest.token(asked.parameters).octets)
            connection.abort()
            _ = try await eventually("it is committed all the same") { try await sql.rows(committed).first }

            let again = try await fixture.broker.token(asked)
            #expect(again.status == 400 && again.error == "invalid_client", "\(again.text)")
            #expect(try await sql.auditedReason(of: again.requestID) == "client_assertion_replayed")
            let answer = try await fixture.broker.token(form.asserted(signer.assertion()))
            try #require(answer.status == 200, "\(answer.text)")
            return answer
        }
    }
}
