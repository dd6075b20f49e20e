import StrictCoding
import BrokerHarness

extension Attack {
    /// Who is asking, and with which secret.
    @ListBuilder static var clientAttacks: [Attack] {
        Attack("C-01", "no client at all") {
            form("missing", .client("client_missing")) { $0["client_id"] = nil }
            form("empty", .client("client_missing")) { $0["client_id"] = "" }
            refresh("a refresh", .client("client_missing")) { form, _ in form["client_id"] = nil }
        }
        Attack("C-02", "an unknown or disabled client") {
            for id in ["nope", "APP-TWO", "app-two\u{301}"] {
                form(id, .client("client_unknown")) { $0["client_id"] = id }
            }
            form("disabled", .client("client_disabled")) { $0["client_id"] = Fixture.disabled }
            basic("unknown", "nope:", .challenged("client_unknown"))
            basic("disabled", "\(Fixture.disabled):", .challenged("client_disabled"))
        }
        Attack("C-04", "a client that may not use the grant") {
            form("exchange", .refused(status: 400, error: "unauthorized_client", reason: "grant_not_allowed")) {
                $0["client_id"] = Fixture.refreshOnly
            }
            refresh("refresh", .refused(status: 400, error: "unauthorized_client", reason: "grant_not_allowed")) {
                form, _ in
                form["client_id"] = Fixture.exchangeOnly
            }
        }
        Attack("C-05", "a secret where there should be none") {
            form("in the body", .client("client_secret_post")) { $0["client_secret"] = "x" }
            basic("in the header", "\(Fixture.target):x", .challenged("client_method_mismatch"))
            form("a confidential client without its secret", .client("client_method_mismatch")) {
                $0["client_id"] = Fixture.confidential
            }
            basic(
                "a confidential client with an empty one", "\(Fixture.confidential):",
                .challenged("client_method_mismatch"))
            secret("the right one", .granted) { $0 }
            secret("a wrong one", .challenged("client_authentication_failed")) { _ in "x" }
            secret("one character less", .challenged("client_authentication_failed")) { String($0.dropLast()) }
            secret("one character more", .challenged("client_authentication_failed")) { $0 + "A" }
            secret("in other letters", .challenged("client_authentication_failed")) { Self.inOtherCase($0) }
            secret("of another client", .challenged("client_method_mismatch"), client: Fixture.target) { $0 }
            secret("of an unknown client", .challenged("client_unknown"), client: "nope") { $0 }
            secret("where an assertion is due", .challenged("client_method_mismatch"), client: Fixture.signer) { $0 }
            secret("where none is made yet", .challenged("client_authentication_failed"), client: Fixture.unarmed) {
                $0
            }
            Variant(name: "the right one, in the body", verdict: .client("client_secret_post")) { fixture in
                var form = try fixture.exchange()
                form["client_id"] = Fixture.confidential
                form["client_secret"] = fixture.secret
                return HTTPRequest.token(form.parameters)
            }
        }
        Attack("C-08", "two mechanisms at once") {
            basic("a secret in the body", "\(Fixture.target):", .malformed("client_several_mechanisms")) {
                $0["client_secret"] = "x"
            }
            basic("an assertion in the body", "\(Fixture.target):", .malformed("client_several_mechanisms")) {
                $0["client_assertion"] = "x"
            }
            form("two in the body", .malformed("client_several_mechanisms")) {
                $0["client_secret"] = "x"
                $0["client_assertion"] = "x"
            }
            http("two headers", .malformed("http_authorization_repeated")) {
                $0.fields += [("Authorization", "Basic YXBwLXR3bzo="), ("Authorization", "Basic YXBwLXR3bzo=")]
            }
        }
        Attack("C-09", "another client in the body than in the header") {
            basic("another", "\(Fixture.source):", .malformed("client_id_mismatch")) {
                $0["client_id"] = Fixture.target
            }
            basic("the same", "\(Fixture.target):", .granted) { $0["client_id"] = Fixture.target }
        }
        Attack("C-11", "credentials that are decoded once") {
            basic("escaped", "app%2Dtwo:", .granted) { $0["client_id"] = nil }
            basic("escaped twice", "app%252Dtwo:", .challenged("client_unknown")) { $0["client_id"] = nil }
            secret("every character of a secret escaped", .granted) { Self.escaped($0) }
            secret("and escaped twice", .challenged("client_authentication_failed")) {
                Self.escaped($0).replacing("%", with: "%25")
            }
            for credentials in ["app%2:", "app-two", ":"] {
                basic(credentials, credentials, .challenged("client_basic_malformed"))
            }
            for value in ["Basic ?!", "Basic YXBwLXR3bzo", "Basic"] {
                scheme(value, .challenged("client_basic_malformed"))
            }
        }
        Attack("C-12", "another scheme") {
            for value in ["Bearer abc", "DPoP abc", "Digest a=b", "Negotiate abc", "", "basicYXBwLXR3bzo="] {
                scheme(value, .challenged("client_scheme_unknown"))
            }
        }
    }
}

extension Attack {
    /// A good exchange of the 2018 profile with these Basic credentials instead of a `client_id`.
    fileprivate static func basic(
        _ name: String, _ credentials: String, _ verdict: Verdict,
        _ bend: @escaping @Sendable (inout TokenForm) -> Void = { _ in }
    ) -> Variant {
        Variant(name: "Basic, \(name)", verdict: verdict) { fixture in
            var form = try fixture.exchange()
            form["client_id"] = nil
            bend(&form)
            let header = "Basic " + Base64.encode(Array(credentials.utf8))
            return HTTPRequest.token(form.parameters, fields: [("Authorization", header)])
        }
    }

    /// The same with what is made of the confidential client's secret.
    fileprivate static func secret(
        _ name: String, _ verdict: Verdict, client: String = Fixture.confidential,
        _ bend: @escaping @Sendable (String) -> String
    ) -> Variant {
        Variant(name: "a secret, \(name)", verdict: verdict) { fixture in
            var form = try fixture.exchange()
            form["client_id"] = nil
            let header = "Basic " + Base64.encode(Array("\(client):\(bend(fixture.secret))".utf8))
            return HTTPRequest.token(form.parameters, fields: [("Authorization", header)])
        }
    }

    /// The same letters, small for capital and capital for small.
    private static func inOtherCase(_ text: String) -> String {
        text.map { $0.isLowercase ? $0.uppercased() : $0.lowercased() }.joined()
    }

    private static func escaped(_ text: String) -> String {
        text.utf8.map { "%" + Hexadecimal.encode([$0]) }.joined()
    }
}
