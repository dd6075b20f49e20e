import Foundation
import StrictCoding
import SystemTesting
import Testing

extension Faults {
    /// Codes while something hangs or dies, and what is left of them.
    struct CodeFaultTests {
        /// It fills its own places, and nothing else: exchanges and refreshes go on, codes that were answered too.
        @Test func itHangs() async throws {
            let stage = try await CodeStage.shared
            let gate = StubGate()
            let issuer = stage.installation.configuration.issuer
            try stage.gives(try stage.freshToken())
            let answered = stage.code(.deviceID)
            let login = try await stage.broker.token(answered)
            let idToken = try #require(login.json?.string("id_token"), "\(login.text)")
            let body = try stage.answer(try stage.freshToken())
            stage.provider.token { _ in .waits(gate, body) }
            let calls = stage.provider.codeCalls.count
            let hanging = (0..<CodeStage.slots).map { _ in
                let form = stage.code(.deviceSecret)
                return Task { try await stage.broker.token(form) }
            }
            defer { gate.open() }
            _ = try await eventually("all places are taken") {
                stage.provider.codeCalls.count == calls + CodeStage.slots ? true : nil
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
            #expect(stage.provider.codeCalls.count == calls + CodeStage.slots)
            // The deadline is the broker's own: all come back although the gate is shut.
            for task in hanging { #expect(try await task.value.isOutage) }
            // Whoever was turned away has lost nothing.
            try stage.gives(try stage.freshToken())
            #expect(try await stage.broker.token(turnedAway).status == 200)
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
            try await holder.rows("ROLLBACK")
            let answer = try await eventually("another broker answers") {
                let answer = try await stage.replica.token(form)
                return answer.isOutage ? nil : answer
            }
            #expect(answer.status == 200, "\(answer.text)")
            #expect(stage.provider.codeCalls.count == calls + 1)
            let sub = try #require(token.claims.string("sub"))
            #expect(try await sql.row("SELECT count(*) FROM native_sso.session WHERE subject = '\(sub)'") == "1")
            #expect(try await stage.replica.token(form).body == answer.body)
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
