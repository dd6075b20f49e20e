import BrokerHarness

extension Attack {
    /// Enrolment while no issuer is configured for it: neither a code nor a fresh id_token begins a session, whatever
    /// else is wrong with the request.
    @ListBuilder static var enrolmentAttacks: [Attack] {
        Attack("E-03", "a code, with whatever verifier") {
            code("a good one") { _ in }
            for verifier in [nil, String(repeating: "a", count: 42), String(repeating: "a", count: 128)] {
                code("\(verifier?.count ?? 0) characters") { $0["code_verifier"] = verifier }
            }
            code("129 characters", .malformed("form_value_too_long")) {
                $0["code_verifier"] = String(repeating: "a", count: 129)
            }
            code("another character set") { $0["code_verifier"] = String(repeating: "ä", count: 43) }
            code("plain") { $0["code_challenge_method"] = "plain" }
        }
        Attack("E-04", "a code, with whatever redirect_uri") {
            for address in [
                nil, "", "https://app.example@evil.example/cb", "http://127.0.0.1:1/cb", "https://app.example/cb#f",
            ] { code(address ?? "none") { $0["redirect_uri"] = address } }
        }
        Attack("E-05", "a code of another client") {
            for client in [Fixture.source, Fixture.confidential, "nope"] {
                code("of \(client)") { $0["client_id"] = client }
            }
        }
        Attack("E-06", "a code that was used or has expired") {
            code("a code") { $0["code"] = Unguessable.make() }
            code("4,097 characters", .malformed("form_value_too_long")) {
                $0["code"] = String(repeating: "a", count: 4097)
            }
            code("no code") { $0["code"] = nil }
        }
        Attack("E-01", "an id_token is asked for in exchange") {
            for profile in NativeProfile.allCases {
                form("\(profile)", .malformed("requested_token_type_unsupported"), profile: profile) {
                    $0["requested_token_type"] = "urn:ietf:params:oauth:token-type:id_token"
                }
            }
            form("without a device", .malformed("actor_token_missing"), profile: .deviceSecret) {
                $0["requested_token_type"] = "urn:ietf:params:oauth:token-type:id_token"
                $0["actor_token"] = nil
                $0["actor_token_type"] = nil
                $0["scope"] = "openid device_sso"
            }
        }
    }
}

extension Attack {
    private static let unsupported = Verdict.refused(
        status: 400, error: "unsupported_grant_type", reason: "grant_type_unknown")

    /// RFC 6749 §4.1.3, bent.
    fileprivate static func code(
        _ name: String, _ verdict: Verdict = unsupported, _ bend: @escaping @Sendable (inout TokenForm) -> Void
    ) -> Variant {
        Variant(name: name, verdict: verdict) { _ in
            var form = TokenForm([
                "grant_type": "authorization_code", "client_id": Fixture.source, "code": Unguessable.make(),
                "redirect_uri": "https://app.example/cb", "code_verifier": Unguessable.make(),
            ])
            bend(&form)
            return HTTPRequest.token(form.parameters)
        }
    }
}
