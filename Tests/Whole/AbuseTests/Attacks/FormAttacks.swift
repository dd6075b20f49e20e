import Foundation
import BrokerHarness

extension Attack {
    /// The form is no form, or means two things.
    @ListBuilder static var formAttacks: [Attack] {
        Attack("F-01", "an empty body") { formText("empty", .malformed("grant_type_missing"), "") }
        Attack("F-02", "no grant_type") {
            form("missing", .malformed("grant_type_missing")) { $0["grant_type"] = nil }
            form("empty", .malformed("grant_type_missing")) { $0["grant_type"] = "" }
        }
        Attack("F-03", "another grant") {
            for text in [
                "password", "client_credentials", "authorization_code", "urn:ietf:params:oauth:grant-type:jwt-bearer",
                "urn:ietf:params:oauth:grant-type:device_code", "urn:ietf:params:oauth:grant-type:saml2-bearer",
            ] { grantType(text) }
        }
        Attack("F-04", "almost a grant") {
            for text in [
                "Refresh_Token", "refresh_token ", " refresh_token", "refresh_token\0", "refresh_token\n",
                "URN:IETF:PARAMS:OAUTH:GRANT-TYPE:TOKEN-EXCHANGE", "urn:ietf:params:oauth:grant-type:token-exchange#",
                "refresh_toke\u{6e}\u{301}",
            ] { grantType(text) }
        }
        Attack("F-05", "a parameter twice") {
            for name in [
                "grant_type", "client_id", "subject_token", "subject_token_type", "actor_token", "actor_token_type",
                "scope", "requested_token_type", "foo",
            ] {
                form(name, .malformed("form_duplicate_parameter")) {
                    let value = $0[name] ?? "x"
                    $0[name] = value
                    $0.append(name, value)
                }
                form("\(name), once empty", .malformed("form_duplicate_parameter")) {
                    if $0[name] == nil { $0[name] = "x" }
                    $0.append(name, "")
                }
            }
        }
        Attack("F-06", "a parameter twice, written differently") {
            formText("an escaped letter", .malformed("form_duplicate_parameter"), "$&client%5Fid=app-b")
            formText("an escaped name", .malformed("form_duplicate_parameter"), "$&%67rant_type=refresh_token")
            formText("brackets", .malformed("form_malformed_name"), "$&client_id[]=app-b")
            formText("a semicolon", .malformed("form_unescaped_semicolon"), "$;client_id=app-b")
        }
        Attack("F-07", "octets that are no text") {
            formText("half an escape", .malformed("form_malformed_percent_encoding"), "$&foo=%z9")
            formText("an escape at the end", .malformed("form_malformed_percent_encoding"), "$&foo=%4")
            formText("an overlong slash", .malformed("form_invalid_utf8"), "$&foo=%c0%af")
            formText("a surrogate", .malformed("form_invalid_utf8"), "$&foo=%ed%a0%80")
            formText("no UTF-8 in a name", .malformed("form_malformed_name"), "$&%ff=1")
            formText("a value without a name", .malformed("form_malformed_name"), "$&=1")
        }
        Attack("F-08", "control characters") {
            for name in [
                "client_id", "scope", "subject_token", "subject_token_type", "actor_token", "actor_token_type",
                "audience", "requested_token_type", "foo",
            ] {
                // In a scope, a tab breaks the grammar: S-05.
                let tab = name == "scope" ? [] : ["\t"]
                for text in ["\0", "\r\nX", "\u{1b}[2J", "\u{7f}", "\u{85}"] + tab {
                    form("\(name) \(text.debugDescription)", .malformed("form_control_character")) {
                        $0[name] = ($0[name] ?? "openid") + text
                    }
                }
            }
        }
        Attack("F-09", "too much of it") {
            formText(
                "10,000 parameters", .malformed("form_too_many_parameters"),
                "$&" + (0..<9000).map { "a\($0)=" }.joined(separator: "&"))
            formText(
                "33 of them", .malformed("form_too_many_parameters"),
                "$&" + (0..<26).map { "a\($0)=1" }.joined(separator: "&"))
            formText(
                "a long name", .malformed("form_name_too_long"), "$&\(String(repeating: "n", count: 60_000))=1")
        }
        Attack("F-10", "names that collide in a hash table") {
            formText(
                "1,000 permutations", .malformed("form_too_many_parameters"),
                "$&"
                    + (0..<1000).map {
                        String($0, radix: 2).replacing("0", with: "Aa").replacing("1", with: "BB") + "="
                    }
                    .joined(separator: "&"))
        }
        Attack("F-11", "a subject token over the limit") {
            // 16 KiB pass the form and fail as what they are; nothing is ever cut or taken for absent.
            form("4,001", .malformed("subject_token_malformed")) { $0["subject_token"] = long(4001) }
            form("16,384", .malformed("subject_token_malformed")) { $0["subject_token"] = long(16_384) }
            form("16,385", .malformed("form_value_too_long")) { $0["subject_token"] = long(16_385) }
            form("1,000,000", .refused(status: 413, error: "invalid_request", reason: "http_body_too_large")) {
                $0["subject_token"] = long(1_000_000)
            }
        }
        Attack("F-12", "another parameter over its limit") {
            for (name, length) in [
                ("actor_token", 4097), ("scope", 4097), ("client_id", 256), ("audience", 1025), ("foo", 1025),
                ("subject_token_type", 1025), ("actor_token_type", 1025), ("requested_token_type", 1025),
            ] {
                form(name, .malformed("form_value_too_long")) { $0[name] = long(length) }
            }
            refresh("refresh_token", .malformed("form_value_too_long")) { form, _ in
                form["refresh_token"] = long(513)
            }
        }
        Attack("F-13", "a parameter of another grant") {
            for name in [
                "refresh_token", "code", "username", "password", "assertion", "device_id", "device_secret",
            ] { form(name, .malformed("parameter_of_other_grant")) { $0[name] = "x" } }
            // An SDK sends them with every request, and they change no meaning.
            for name in ["redirect_uri", "code_verifier"] { form(name, .granted) { $0[name] = "x" } }
            for name in [
                "subject_token", "subject_token_type", "actor_token", "actor_token_type", "code", "username",
                "audience",
            ] {
                refresh("\(name) beside a refresh", .malformed("parameter_of_other_grant")) { form, _ in
                    form[name] = "x"
                }
            }
        }
        Attack("F-14", "an unknown parameter") {
            form("foo", .granted) { $0["foo"] = "bar" }
            form("Scope", .granted) { $0["Scope"] = "openid payments" }
            form("display", .granted) { $0["display"] = "page" }
            for name in ["device_secret", "device_id"] {
                refresh("\(name) beside a refresh", .granted) { form, _ in form[name] = "x" }
            }
        }
        Attack("F-17", "white space around a token") {
            refresh("before", .unusable("refresh_token_not_ours")) { form, _ in
                form["refresh_token"]?.insert(" ", at: "".startIndex)
            }
            refresh("after", .unusable("refresh_token_not_ours")) { form, _ in form["refresh_token"]?.append(" ")
            }
            form("before an id_token", .malformed("subject_token_malformed")) {
                $0["subject_token"]?.insert(" ", at: "".startIndex)
            }
            form("after an id_token", .malformed("subject_token_malformed")) { $0["subject_token"]?.append(" ") }
        }
        Attack("F-18", "what another program would run") {
            for text in hostileTexts {
                form("client_id \(text)", .client("client_unknown")) { $0["client_id"] = text }
                form("audience \(text)", .target("audience_unknown")) { $0["audience"] = text }
                form("subject_token \(text)", .malformed("subject_token_malformed")) {
                    $0["subject_token"] = text
                }
                form(
                    "scope \(text)",
                    .scope(
                        text.contains("\"") || text.contains("\\") || text.contains("  ")
                            ? "scope_malformed" : "scope_exceeds_client")
                ) { $0["scope"] = text }
                refresh("refresh_token \(text)", .unusable("refresh_token_not_ours")) { form, _ in
                    form["refresh_token"] = text
                }
            }
        }
    }

    private static let hostileTexts = [
        "';select pg_sleep(9)--", "$(touch /tmp/x)", "%n%s%x", "../../etc/passwd", "${jndi:ldap://a}", "<script>",
        "{{7*7}}", "' OR '1'='1",
    ]

    private static func grantType(_ text: String) -> Variant {
        form(
            text.debugDescription, .refused(status: 400, error: "unsupported_grant_type", reason: "grant_type_unknown")
        ) {
            $0["grant_type"] = text
        }
    }

    private static func long(_ count: Int) -> String { String(repeating: "a", count: count) }
}
