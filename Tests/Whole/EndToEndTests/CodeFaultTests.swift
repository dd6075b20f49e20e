import Foundation
import StrictCoding
import BrokerHarness
import Testing

extension Faults {
    /// Codes while something hangs or dies, and what is left of them.
    struct CodeFaultTests {
        /// An app that floods it fills its half of the places: another app enrols. When all places are full nothing else waits:
        /// exchanges and refreshes go on, codes that were answered too.
        @Test func itHangs() async throws {
            let stage = try await CodeStage.shared
            let gate = StubGate()
            let issuer = stage.installation.configuration.issuer
            try stage.gives(try stage.freshToken())
            let answered = stage.code(.deviceID)
            let login = try await stage.broker.token(answered)
            let idToken = try #require(login.json?.string("id_token"), "\(login.text)")
            let body = try stage.answer(try stage.freshToken())
            let other = try stage.answer(try stage.freshToken(of: "app-two"))
            stage.provider.token { call in
                call.parameter("client_id") == "app-two" ? .answers(200, other) : .waits(gate, body)
            }
            let calls = stage.provider.codeCalls.count
            func hang(_ app: String) -> Task<HTTPAnswer, any Error> {
                let form = stage.code(.deviceSecret, of: app)
                return Task { try await stage.broker.token(form) }
            }
            var hanging = (0..<CodeStage.slots / 2).map { _ in hang("app-one") }
            defer { gate.open() }
            _ = try await eventually("one app's places are taken") {
                stage.provider.codeCalls.count == calls + CodeStage.slots / 2 ? true : nil
            }
            for _ in 0..<10 {
                let flood = try await stage.broker.token(stage.code(.deviceSecret))
                #expect(flood.isOutage && flood["Retry-After"] == "1")
                #expect(try await stage.reason(flood) == "code_relay_share_used")
            }
            let enrolled = try await stage.broker.token(stage.code(.deviceSecret, of: "app-two"))
            #expect(enrolled.status == 200, "\(enrolled.text)")

            stage.provider.token { _ in .waits(gate, body) }
            hanging += (0..<CodeStage.slots / 2).map { _ in hang("app-two") }
            _ = try await eventually("all places are taken") {
                stage.provider.codeCalls.count == calls + 1 + CodeStage.slots ? true : nil
            }
            let turnedAway = stage.code(.deviceSecret)
            let busy = try await stage.broker.token(turnedAway)
            #expect(busy.isOutage)
            #expect(try await stage.reason(busy) == "code_relay_busy")
            for _ in 0..<20 {
                let exchanged = try await stage.broker.token(
                    .exchange(
                        idToken, issuer: issuer, device: CodeStage.device, profile: .deviceID, client: "app-two"))
                let refreshToken = try #require(exchanged.refreshToken, "\(exchanged.text)")
                #expect(try await stage.broker.token(.refresh(refreshToken, client: "app-two")).status == 200)
            }
            #expect(try await stage.broker.token(answered).body == login.body)
            #expect(stage.provider.codeCalls.count == calls + 1 + CodeStage.slots)
            // The deadline is the broker's own: all come back although the gate is shut.
            for task in hanging { #expect(try await task.value.isOutage) }
            // Whoever was turned away has lost nothing.
            try stage.gives(try stage.freshToken())
            #expect(try await stage.broker.token(turnedAway).status == 200)
        }

        /// The broker dies between its reservation of the code and the call: another one has the code, and it goes out once.
        @Test func killedBeforeSending() async throws {
            let stage = try await CodeStage.shared
            let broker = try stage.installation.startBroker("killed-\(Unguessable.make().prefix(6))")
            try await broker.untilReady()
            let sql = try stage.installation.session()
            let holder = try stage.installation.session()
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
            let token = try stage.freshToken()
            try stage.gives(token)
            let calls = stage.provider.codeCalls.count
            let form = stage.code(.deviceSecret)
            let lost = Task { try? await broker.token(form) }
            let waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'advisory'"
            _ = try await eventually("the mark is held back") { try await sql.rows(waiting).isEmpty ? nil : true }
            broker.process.signal(SIGKILL)
            #expect(await lost.value == nil)
            // As the server does when it sees that the client is gone; the mark is rolled back.
            try await sql.rows("SELECT pg_terminate_backend(pid) FROM (\(waiting)) w")
            _ = try await eventually("the mark is gone") { try await sql.rows(waiting).isEmpty ? true : nil }
            try await holder.rows("SELECT pg_advisory_unlock(4711)")
            for statement in [
                "DROP TRIGGER test_wait ON native_sso.relayed_code", "DROP FUNCTION native_sso.test_wait()",
            ] { try await sql.rows(statement) }
            try await sql.rows(
                "UPDATE native_sso.relayed_code SET valid_until = now() + interval '1 min' WHERE NOT is_sent")
            let meanwhile = try await stage.replica.token(form)
            #expect(meanwhile.isOutage && stage.provider.codeCalls.count == calls)
            #expect(try await stage.reason(meanwhile) == "code_in_flight")
            try await sql.rows("UPDATE native_sso.relayed_code SET valid_until = now() WHERE NOT is_sent")
            let answer = try await stage.replica.token(form)
            #expect(answer.status == 200, "\(answer.text)")
            #expect(stage.provider.codeCalls.count == calls + 1)
        }

        /// The broker dies while the code is at the identity provider: it may be spent, and nobody asks again.
        @Test func killedWhileAsking() async throws {
            let stage = try await CodeStage.shared
            let broker = try stage.installation.startBroker("killed-\(Unguessable.make().prefix(6))")
            try await broker.untilReady()
            let gate = StubGate()
            let body = try stage.answer(try stage.freshToken())
            stage.provider.token { _ in .waits(gate, body) }
            defer { gate.open() }
            let calls = stage.provider.codeCalls.count
            let form = stage.code(.deviceSecret)
            let lost = Task { try? await broker.token(form) }
            _ = try await eventually("it is asked") { stage.provider.codeCalls.count == calls + 1 ? true : nil }
            broker.process.signal(SIGKILL)
            #expect(await lost.value == nil)
            gate.open()
            let meanwhile = try await stage.replica.token(form)
            #expect(meanwhile.isOutage)
            #expect(try await stage.reason(meanwhile) == "code_in_flight")
            // When the dead broker has had all the time that it may have.
            try await stage.installation.session().rows(
                "UPDATE native_sso.relayed_code SET valid_until = now() WHERE state = 'asked'")
            let gone = try await stage.replica.token(form)
            #expect(gone.error == "invalid_grant")
            #expect(try await stage.reason(gone) == "code_used")
            #expect(stage.provider.codeCalls.count == calls + 1)
        }

        /// It dies after the identity provider's answer is kept, and before its own: another broker goes on from there.
        @Test func killedBeforeItsAnswer() async throws {
            let stage = try await CodeStage.shared
            let broker = try stage.installation.startBroker("killed-\(Unguessable.make().prefix(6))")
            try await broker.untilReady()
            let sql = try stage.installation.session()
            let token = try stage.freshToken()
            try stage.gives(token)
            let calls = stage.provider.codeCalls.count
            let form = stage.code(.deviceSecret)
            // Holds the session back, with the answer already kept.
            let holder = try stage.installation.session()
            try await holder.rows("BEGIN")
            try await holder.rows("LOCK TABLE native_sso.session IN ACCESS EXCLUSIVE MODE")
            let kept = "SELECT count(*) FROM native_sso.relayed_code WHERE state = 'kept'"
            let before = try await sql.row(kept)
            let lost = Task { try? await broker.token(form) }
            _ = try await eventually("the answer is kept") { try await sql.row(kept) != before ? true : nil }
            broker.process.signal(SIGKILL)
            #expect(await lost.value == nil)
            // A failover takes its time; the half minute begins with the answer.
            try await sql.rows(
                "UPDATE native_sso.relayed_code SET valid_until = valid_until - interval '60 s' WHERE state = 'kept'")
            try await holder.rows("ROLLBACK")
            let answer = try await eventually("another broker answers") {
                let answer = try await stage.replica.token(form)
                return answer.isOutage ? nil : answer
            }
            #expect(answer.status == 200, "\(answer.text)")
            #expect(stage.provider.codeCalls.count == calls + 1)
            let sub = try #require(token.claims.string("sub"))
            #expect(try await sql.row("SELECT count(*) FROM native_sso.session WHERE subject = '\(sub)'") == "1")
            try await sql.rows(
                "UPDATE native_sso.relayed_code SET valid_until = valid_until - interval '15 s' WHERE state = 'answered'"
            )
            #expect(try await stage.replica.token(form).body == answer.body)
        }

        /// E-11: what came for a code and no app gets is revoked at the identity provider; nobody waits for that.
        @Test func aTokenThatNoAppGetsIsRevoked() async throws {
            let stage = try await CodeStage.shared
            let sql = try stage.installation.session()
            func orphan(_ answer: HTTPAnswer) async throws -> String {
                let id = answer["X-Request-Id"] ?? ""
                return try await eventually("the audit knows") {
                    try await sql.rows(
                        """
                        SELECT reason || ' ' || client_id FROM native_sso.audit_event
                        WHERE request_id = '\(id)' AND kind = 'code_orphaned'
                        """
                    ).first
                }
            }
            let good = try stage.answer(try stage.freshToken())
            for (reason, body) in [
                ("idp_id_token_other_client", try stage.answer(try stage.freshToken(of: "app-two"))),
                ("idp_answer_malformed", good.replacing("\"bearer\"", with: "\"mac\"")),
                ("idp_no_id_token", #"{"access_token":"a","token_type":"Bearer","refresh_token":"idp-refresh"}"#),
            ] {
                let before = stage.provider.revocations.count
                stage.provider.token { _ in .answers(200, body) }
                let form = stage.code(.deviceSecret)
                let refused = try await stage.broker.token(form)
                #expect(refused.isOutage, "\(refused.text)")
                #expect(try await stage.reason(refused) == reason)
                #expect(try await orphan(refused) == "idp_token_revoked app-one")
                let call = try #require(stage.provider.revocations.last)
                #expect(stage.provider.revocations.count == before + 1)
                #expect(call.body == "token=idp-refresh&token_type_hint=refresh_token&client_id=app-one")
                // And it stays refused, by whichever broker.
                let again = try await stage.replica.token(form)
                #expect(try await stage.reason(again) == "code_used")
            }
            let explained = try await stage.installation.run(
                ["explain", "--reason", "idp_token_revoked"])
            #expect(explained.status == 0, "\(explained.output)")
        }

        /// A broker that is told to stop has something to do for a code yet: it waits for it, and for its record.
        @Test func toldToStop() async throws {
            let stage = try await CodeStage.shared
            let broker = try stage.installation.startBroker("stopped-\(Unguessable.make().prefix(6))")
            try await broker.untilReady()
            let before = stage.provider.revocations.count
            stage.provider.revocation { _ in .hangs }
            defer { stage.provider.revocation { _ in .answers(200, "") } }
            let body = try stage.answer(try stage.freshToken(of: "app-two"))
            stage.provider.token { _ in .answers(200, body) }
            let refused = try await broker.token(stage.code(.deviceSecret))
            #expect(refused.isOutage, "\(refused.text)")
            _ = try await eventually("it is being revoked") {
                stage.provider.revocations.count == before + 1 ? true : nil
            }
            #expect(await broker.process.terminate() == 0)
            let id = refused["X-Request-Id"] ?? ""
            let reasons = try await stage.installation.session().rows(
                "SELECT reason FROM native_sso.audit_event WHERE request_id = '\(id)' AND kind = 'code_orphaned'")
            #expect(reasons == ["idp_revocation_failed"])
        }

        /// Nothing of a code, its verifier or the identity provider's tokens is written down by anybody.
        @Test func nothingSecretIsWrittenDown() async throws {
            let stage = try await CodeStage.shared
            var search = SecretSearch()
            let tokens = (access: Unguessable.make(), refresh: Unguessable.make())
            var token = try stage.freshToken()
            token.claims["at_hash"] = nil
            let body = try stage.answer(token).replacing("idp-access", with: tokens.access)
                .replacing("idp-refresh", with: tokens.refresh)
            stage.provider.token { _ in .answers(200, body) }
            search.add(tokens.access, "the provider's access token")
            search.add(tokens.refresh, "the provider's refresh token")
            let granted = stage.code(.deviceSecret)
            let answer = try await stage.broker.token(granted)
            #expect(answer.status == 200, "\(answer.text)")
            search.add(try #require(answer.json?.string("device_secret")), "the device secret")
            search.add(try #require(answer.json?.string("id_token")), "our id_token")
            stage.provider.token { _ in .answers(400, #"{"error":"invalid_grant"}"#) }
            let refused = stage.code(.deviceSecret)
            _ = try await stage.broker.token(refused)
            stage.provider.token { _ in .answers(200, body.replacing("bearer", with: "mac")) }
            let failed = stage.code(.deviceSecret)
            _ = try await stage.reason(try await stage.broker.token(failed))
            for form in [granted, refused, failed] {
                search.add(try #require(form["code"]), "a code")
                search.add(try #require(form["code_verifier"]), "a verifier")
            }
            #expect(search.findings(in: try stage.broker.logText()).isEmpty)
            let sql = try stage.installation.session()
            for table in ["relayed_code", "used_proof", "session", "device", "audit_event"] {
                let rows = try await sql.rows("SELECT t::text FROM native_sso.\(table) t").joined(separator: "\n")
                #expect(search.findings(in: rows).isEmpty, "\(table)")
            }
        }
    }
}
