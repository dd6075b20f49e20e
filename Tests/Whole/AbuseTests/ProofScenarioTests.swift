import BrokerTesting
import StrictCoding
import BrokerHarness
import Testing

extension Abuse {
    /// DPoP attacks that need several requests.
    struct ProofScenarioTests {
        /// P-02, P-12: a bound token family works only with its key. A thief without the key cannot revoke it.
        @Test func aFamilyIsForItsKey() async throws {
            let fixture = try await Fixture.shared
            let form = try fixture.exchange(by: Fixture.bound)
            let first = try await send(form, fixture.proof(), fixture)
            #expect(first.status == 200, "\(first.text)")
            #expect(first.json?.string("token_type") == "DPoP")
            let refresh = TokenForm.refresh(try #require(first.json?.string("refresh_token")), client: Fixture.bound)
            try await refuse(refresh, nil, "invalid_dpop_proof", "dpop_proof_required", fixture)
            try await refuse(
                refresh, fixture.proof(by: try fixture.otherKey()), "invalid_dpop_proof", "jkt_mismatch", fixture)
            let second = try await send(refresh, fixture.proof(), fixture)
            #expect(second.status == 200, "\(second.text)")
            // A retry with a new proof gets the lost answer.
            let again = try await send(refresh, fixture.proof(), fixture)
            #expect(again.json?.string("refresh_token") == second.json?.string("refresh_token"))
            // A replay, but a thief without the key must not be able to log the user out.
            let next = TokenForm.refresh(try #require(second.json?.string("refresh_token")), client: Fixture.bound)
            let third = try await send(next, fixture.proof(), fixture)
            try await refuse(
                refresh, fixture.proof(by: try fixture.otherKey()), "invalid_dpop_proof", "jkt_mismatch", fixture)
            let last = TokenForm.refresh(try #require(third.json?.string("refresh_token")), client: Fixture.bound)
            #expect(try await send(last, fixture.proof(), fixture).status == 200)
        }

        /// D-22: an attacker copies id_token and device value to another device.
        @Test func aDeviceIsForItsKey() async throws {
            let fixture = try await Fixture.shared
            let form = try fixture.exchange(by: Fixture.bound)
            #expect(try await send(form, fixture.proof(), fixture).status == 200)
            try await refuse(form, fixture.proof(by: try fixture.otherKey()), "invalid_grant", "pin_conflict", fixture)
            #expect(try await send(form, fixture.proof(), fixture).status == 200)
            // A sibling app has its own key.
            var sibling = form
            sibling["client_id"] = Fixture.otherBound
            #expect(try await send(sibling, fixture.proof(by: try fixture.otherKey()), fixture).status == 200)
        }

        /// A proof is valid once: of twenty requests at two brokers, one succeeds.
        @Test func aProofAtTwoBrokersAtOnce() async throws {
            let fixture = try await Fixture.shared
            let form = try fixture.exchange(by: Fixture.bound)
            let request = HTTPRequest.token(form.parameters, fields: [("DPoP", try fixture.proof().signed())])
            let answers = try await atOnce(20) { try await request.send(to: fixture.ports[$0 % 2]) }
            #expect(answers.count { $0.status == 200 } == 1, "\(answers.map(\.status))")
            #expect(answers.allSatisfy { $0.status == 200 || $0.error == "invalid_dpop_proof" })
            let late = try await request.send(to: fixture.running.publicPort)
            // The audit only samples this many refusals, so the test reads the request log.
            #expect(try await fixture.loggedReason(of: late.requestID) == "dpop_replayed")
        }

        private func send(_ form: TokenForm, _ proof: TestProof?, _ fixture: Fixture) async throws -> HTTPAnswer {
            let fields = try proof.map { [(name: "DPoP", value: try $0.signed())] } ?? []
            return try await HTTPRequest.token(form.parameters, fields: fields).send(to: fixture.running.publicPort)
        }

        private func refuse(
            _ form: TokenForm, _ proof: TestProof?, _ error: String, _ reason: String, _ fixture: Fixture
        ) async throws {
            let answer = try await send(form, proof, fixture)
            #expect(answer.status == 400 && answer.error == error, "\(answer.text)")
            #expect(try await fixture.sql.auditedReason(of: answer.requestID) == reason)
        }
    }
}
