import Foundation
import StrictCoding
import BrokerHarness
import Testing

extension Faults {
    /// Codes while the identity provider hangs or a broker dies.
    struct CodeFaultTests {
        /// An app that floods a hanging IdP fills half of its slots: another app still enrols. When all slots are full,
        /// exchanges, refreshes and codes that were answered go on.
        @Test func itHangs() async throws {
            let fixture = try await EnrolmentFixture.shared
            let gate = StubGate()
            let issuer = fixture.installation.configuration.issuer
            try fixture.gives(try fixture.freshToken())
            let answered = fixture.code(.deviceID)
            let login = try await fixture.broker.token(answered)
            let idToken = try #require(login.json?.string("id_token"), "\(login.text)")
            let body = try fixture.answer(try fixture.freshToken())
            let other = try fixture.answer(try fixture.freshToken(of: "app-two"))
            fixture.provider.token { call in
                call.parameter("client_id") == "app-two" ? .answers(200, other) : .waits(gate, body)
            }
            let calls = fixture.provider.codeCalls.count
            func hang(_ app: String) -> Task<HTTPAnswer, any Error> {
                let form = fixture.code(.deviceSecret, of: app)
                return Task { try await fixture.broker.token(form) }
            }
            var hanging = (0..<EnrolmentFixture.slots / 2).map { _ in hang("app-one") }
            defer { gate.open() }
            _ = try await eventually("one app's places are taken") {
                fixture.provider.codeCalls.count == calls + EnrolmentFixture.slots / 2 ? true : nil
            }
            for _ in 0..<10 {
                let flood = try await fixture.broker.token(fixture.code(.deviceSecret))
                #expect(flood.isOutage && flood["Retry-After"] == "1")
                #expect(try await fixture.reason(flood) == "code_relay_share_used")
            }
            let enrolled = try await fixture.broker.token(fixture.code(.deviceSecret, of: "app-two"))
            #expect(enrolled.status == 200, "\(enrolled.text)")

            fixture.provider.token { _ in .waits(gate, body) }
            hanging += (0..<EnrolmentFixture.slots / 2).map { _ in hang("app-two") }
            _ = try await eventually("all places are taken") {
                fixture.provider.codeCalls.count == calls + 1 + EnrolmentFixture.slots ? true : nil
            }
            let turnedAway = fixture.code(.deviceSecret)
            let busy = try await fixture.broker.token(turnedAway)
            #expect(busy.isOutage)
            #expect(try await fixture.reason(busy) == "code_relay_busy")
            for _ in 0..<20 {
                let exchanged = try await fixture.broker.token(
                    .exchange(
                        idToken, issuer: issuer, device: EnrolmentFixture.device, profile: .deviceID, client: "app-two")
                )
                let refreshToken = try #require(exchanged.refreshToken, "\(exchanged.text)")
                #expect(try await fixture.broker.token(.refresh(refreshToken, client: "app-two")).status == 200)
            }
            #expect(try await fixture.broker.token(answered).body == login.body)
            #expect(fixture.provider.codeCalls.count == calls + 1 + EnrolmentFixture.slots)
            // The broker's own deadline ends all calls although the gate is shut.
            for task in hanging { #expect(try await task.value.isOutage) }
            // The refused apps have lost nothing.
            try fixture.gives(try fixture.freshToken())
            #expect(try await fixture.broker.token(turnedAway).status == 200)
        }

        /// The broker dies between the reservation of the code and the call: another broker takes the code, and sends
        /// it once.
        @Test func killedBeforeSending() async throws {
            let fixture = try await EnrolmentFixture.shared
            let broker = try await fixture.installation.startBroker("killed-\(Unguessable.make().prefix(6))").ready()
            let sql = try fixture.installation.session()
            let holder = try fixture.installation.session()
            // The mark waits for a lock that this test holds.
            for statement in [
                """
                CREATE FUNCTION native_sso.test_wait() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN IF NOT OLD.is_sent AND NEW.is_sent THEN PERFORM pg_advisory_lock_shared(4711); END IF; RETURN NEW; END $$
                """,
                """
                CREATE TRIGGER test_wait BEFORE UPDATE ON native_sso.relayed_code
                FOR EACH ROW EXECUTE FUNCTION native_sso.test_wait()
                """,
            ] { try await sql.rows(statement) }
            try await holder.rows("SELECT pg_advisory_lock(4711)")
            let token = try fixture.freshToken()
            try fixture.gives(token)
            let calls = fixture.provider.codeCalls.count
            let form = fixture.code(.deviceSecret)
            let lost = Task { try? await broker.token(form) }
            let waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'advisory'"
            _ = try await eventually("the mark is held back") { try await sql.rows(waiting).isEmpty ? nil : true }
            broker.process.signal(SIGKILL)
            #expect(await lost.value == nil)
            // The server does the same when it sees that the client is gone. The mark is rolled back.
            try await sql.rows("SELECT pg_terminate_backend(pid) FROM (\(waiting)) w")
            _ = try await eventually("the mark is gone") { try await sql.rows(waiting).isEmpty ? true : nil }
            try await holder.rows("SELECT pg_advisory_unlock(4711)")
            for statement in [
                "DROP TRIGGER test_wait ON native_sso.relayed_code", "DROP FUNCTION native_sso.test_wait()",
            ] { try await sql.rows(statement) }
            try await sql.rows(
                "UPDATE native_sso.relayed_code SET valid_until = now() + interval '1 min' WHERE NOT is_sent")
            let meanwhile = try await fixture.replica.token(form)
            #expect(meanwhile.isOutage && fixture.provider.codeCalls.count == calls)
            #expect(try await fixture.reason(meanwhile) == "code_in_flight")
            try await sql.rows("UPDATE native_sso.relayed_code SET valid_until = now() WHERE NOT is_sent")
            let answer = try await fixture.replica.token(form)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(fixture.provider.codeCalls.count == calls + 1)
        }

        /// The broker dies while the code is at the IdP: the code may be spent, so no broker sends it again.
        @Test func killedWhileAsking() async throws {
            let fixture = try await EnrolmentFixture.shared
            let broker = try await fixture.installation.startBroker("killed-\(Unguessable.make().prefix(6))").ready()
            let gate = StubGate()
            let body = try fixture.answer(try fixture.freshToken())
            fixture.provider.token { _ in .waits(gate, body) }
            defer { gate.open() }
            let calls = fixture.provider.codeCalls.count
            let form = fixture.code(.deviceSecret)
            let lost = Task { try? await broker.token(form) }
            _ = try await eventually("it is asked") { fixture.provider.codeCalls.count == calls + 1 ? true : nil }
            broker.process.signal(SIGKILL)
            #expect(await lost.value == nil)
            gate.open()
            let meanwhile = try await fixture.replica.token(form)
            #expect(meanwhile.isOutage)
            #expect(try await fixture.reason(meanwhile) == "code_in_flight")
            // The dead broker's time for the call has passed.
            try await fixture.installation.session().rows(
                "UPDATE native_sso.relayed_code SET valid_until = now() WHERE state = 'asked'")
            let gone = try await fixture.replica.token(form)
            #expect(gone.error == "invalid_grant")
            #expect(try await fixture.reason(gone) == "code_used")
            #expect(fixture.provider.codeCalls.count == calls + 1)
        }

        /// The broker dies after it stores the identity provider's answer. Another broker answers the app from there.
        @Test func killedBeforeItsAnswer() async throws {
            let fixture = try await EnrolmentFixture.shared
            let broker = try await fixture.installation.startBroker("killed-\(Unguessable.make().prefix(6))").ready()
            let sql = try fixture.installation.session()
            let token = try fixture.freshToken()
            try fixture.gives(token)
            let calls = fixture.provider.codeCalls.count
            let form = fixture.code(.deviceSecret)
            // Holds the session back, with the answer already kept.
            let holder = try fixture.installation.session()
            try await holder.rows("BEGIN")
            try await holder.rows("LOCK TABLE native_sso.session IN ACCESS EXCLUSIVE MODE")
            let kept = "SELECT count(*) FROM native_sso.relayed_code WHERE state = 'kept'"
            let before = try await sql.row(kept)
            let lost = Task { try? await broker.token(form) }
            _ = try await eventually("the answer is kept") { try await sql.row(kept) != before ? true : nil }
            broker.process.signal(SIGKILL)
            #expect(await lost.value == nil)
            // A slow failover does not shorten redelivery: its 30 s begin with the answer.
            try await sql.rows(
                "UPDATE native_sso.relayed_code SET valid_until = valid_until - interval '60 s' WHERE state = 'kept'")
            try await holder.rows("ROLLBACK")
            let answer = try await eventually("another broker answers") {
                let answer = try await fixture.replica.token(form)
                return answer.isOutage ? nil : answer
            }
            #expect(answer.status == 200, "\(answer.text)")
            #expect(fixture.provider.codeCalls.count == calls + 1)
            let sub = try #require(token.claims.string("sub"))
            #expect(try await sql.row("SELECT count(*) FROM native_sso.session WHERE subject = '\(sub)'") == "1")
            try await sql.rows(
                "UPDATE native_sso.relayed_code SET valid_until = valid_until - interval '15 s' WHERE state = 'answered'"
            )
            #expect(try await fixture.replica.token(form).body == answer.body)
        }

        /// E-11: the broker revokes tokens that no app gets at the IdP; no request waits for that.
        @Test func aTokenThatNoAppGetsIsRevoked() async throws {
            let fixture = try await EnrolmentFixture.shared
            let sql = try fixture.installation.session()
            func orphan(_ answer: HTTPAnswer) async throws -> String {
                let id = answer.requestID
                return try await eventually("the audit knows") {
                    try await sql.rows(
                        """
                        SELECT reason || ' ' || client_id FROM native_sso.audit_event
                        WHERE request_id = '\(id)' AND kind = 'code_orphaned'
                        """
                    ).first
                }
            }
            let good = try fixture.answer(try fixture.freshToken())
            for (fault, body) in [
                ("idp_id_token_other_client", try fixture.answer(try fixture.freshToken(of: "app-two"))),
                ("idp_answer_malformed", good.replacing("\"bearer\"", with: "\"mac\"")),
                ("idp_no_id_token", #"{"access_token":"a","token_type":"Bearer","refresh_token":"idp-refresh"}"#),
            ] {
                let before = fixture.provider.revocations.count
                fixture.provider.token { _ in .answers(200, body) }
                let form = fixture.code(.deviceSecret)
                let refused = try await fixture.broker.token(form)
                #expect(refused.error == "invalid_grant", "\(refused.text)")
                #expect(try await fixture.fault(refused) == fault)
                #expect(try await orphan(refused) == "idp_token_revoked app-one")
                let call = try #require(fixture.provider.revocations.last)
                #expect(fixture.provider.revocations.count == before + 1)
                #expect(call.body == "token=idp-refresh&token_type_hint=refresh_token&client_id=app-one")
                // The code stays refused at every broker.
                let again = try await fixture.replica.token(form)
                #expect(try await fixture.reason(again) == "code_used")
            }
            let explained = try await fixture.installation.run(
                ["explain", "--reason", "idp_token_revoked"])
            #expect(explained.status == 0, "\(explained.output)")
        }

        /// On SIGTERM the broker waits for a pending revocation and for its audit event.
        @Test func toldToStop() async throws {
            let fixture = try await EnrolmentFixture.shared
            let broker = try await fixture.installation.startBroker("stopped-\(Unguessable.make().prefix(6))").ready()
            let before = fixture.provider.revocations.count
            fixture.provider.revocation { _ in .hangs }
            defer { fixture.provider.revocation { _ in .answers(200, "") } }
            let body = try fixture.answer(try fixture.freshToken(of: "app-two"))
            fixture.provider.token { _ in .answers(200, body) }
            let refused = try await broker.token(fixture.code(.deviceSecret))
            #expect(refused.error == "invalid_grant", "\(refused.text)")
            _ = try await eventually("it is being revoked") {
                fixture.provider.revocations.count == before + 1 ? true : nil
            }
            #expect(await broker.process.terminate() == 0)
            let id = refused.requestID
            let reasons = try await fixture.installation.session().rows(
                "SELECT reason FROM native_sso.audit_event WHERE request_id = '\(id)' AND kind = 'code_orphaned'")
            #expect(reasons == ["idp_revocation_failed"])
        }
    }
}
