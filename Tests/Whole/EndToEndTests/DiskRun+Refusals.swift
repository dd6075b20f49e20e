import BrokerHarness
import Testing

/// Secrets out of place, and wrong ones.
extension DiskRun {
    /// A secret where something else belongs, which is how it gets into what is written about requests.
    mutating func misplacedSecrets() async throws {
        let good = try fixture.logins.exchange(fixture.logins.login())
        for parameter in [
            "grant_type", "client_id", "audience", "subject_token_type", "actor_token_type", "requested_token_type",
            "scope", "resource", "unknown",
        ] {
            let secret = Unguessable.make()
            secrets.add(secret, "a secret as \(parameter)")
            var form = good
            form[parameter] = secret
            let answer = try await send(HTTPRequest.token(form.parameters), "a secret as \(parameter)")
            #expect(answer.status == (parameter == "unknown" ? 200 : 400), "\(parameter): \(answer.text)")
        }
        for field in ["Authorization", "Cookie", "User-Agent", "X-Request-Id", "Forwarded", "Traceparent", "DPoP"] {
            let secret = Unguessable.make()
            secrets.add(secret, "a secret in \(field)")
            var request = HTTPRequest.token(good.parameters)
            request.fields.append((field, field == "Authorization" ? "Bearer \(secret)" : secret))
            _ = try await send(request, "a secret in \(field)")
        }
        var request = HTTPRequest.token(good.parameters)
        let secret = Unguessable.make()
        secrets.add(secret, "a secret in the path")
        request.target = "/\(secret)"
        #expect(try await send(request, "a secret in the path").status == 404)
    }

    /// What authenticates an app: wrong, and used up.
    mutating func refusedAuthentication() async throws {
        let fixture = fixture
        func form() throws -> TokenForm { try fixture.logins.exchange(fixture.logins.login()) }
        try await refused(
            try fixture.request(form(), by: .withSecret, secret: Unguessable.make()), "client_authentication_failed",
            "a secret")
        let assertion = try fixture.assertion()
        _ = try await granted(try fixture.request(form(), by: .signer, assertion: assertion), "an assertion")
        try await refused(
            try fixture.request(form(), by: .signer, assertion: assertion), "client_assertion_replayed", "an assertion")
        let unsigned = assertion.split(separator: ".").prefix(2).joined(separator: ".")
        let signature = try fixture.otherSignature()
        try await refused(
            try fixture.request(form(), by: .signer, assertion: "\(unsigned).\(signature)"),
            "client_assertion_bad_signature", "an assertion")
        let proof = try fixture.proof()
        _ = try await granted(try fixture.request(form(), by: .bound, proof: proof), "a proof")
        try await refused(try fixture.request(form(), by: .bound, proof: proof), "dpop_replayed", "a proof")
        try await refused(
            try fixture.request(form(), by: .bound, proof: "\(unsigned).\(signature)"), "dpop_wrong_typ", "a proof")
    }
}
