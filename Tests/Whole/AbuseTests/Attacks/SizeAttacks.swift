import StrictCoding
import BrokerHarness

extension Attack {
    /// Sizes at each limit and one above it.
    @ListBuilder static var sizeAttacks: [Attack] {
        Attack("H-15", "a header at its limits") {
            fields("64 fields", 64, .granted)
            fields("65 fields", 65, .refused(status: 431, error: "invalid_request", reason: "http_header_too_large"))
            target("8,192 octets of target", 8192, .malformed("http_query"))
            target(
                "8,193 octets of target", 8193,
                .refused(status: 414, error: "invalid_request", reason: "http_target_too_long"))
        }
        Attack("H-16", "a body at its limit") {
            padded("65,536 octets", 65_536, .granted)
            padded(
                "65,537 octets", 65_537, .refused(status: 413, error: "invalid_request", reason: "http_body_too_large"))
        }
        Attack("F-09", "a form at its limits") {
            parameters("32 parameters", 32, .granted)
            parameters("33 parameters", 33, .malformed("form_too_many_parameters"))
            form("a name of 128", .granted) { $0.append(long(128), "1") }
            form("a name of 129", .malformed("form_name_too_long")) { $0.append(long(129), "1") }
            formText("separators alone", .granted, "&&&$&&&")
            formText("a name without a value", .granted, "$&foo")
            formText("a value with separators", .granted, "$&foo=a=b==")
        }
        Attack("F-11", "an id_token at its limit") {
            token("as long as may be", .granted) { token, _ in
                let header = token.header
                token.rewritesClaims = { filled($0, to: 16_384, header: header) }
            }
        }
        Attack("F-12", "a value at its limit") {
            form("an unknown one, 1,024", .granted) { $0["foo"] = long(1024) }
            form("an unknown one, 512 letters of two octets", .granted) {
                $0["foo"] = String(repeating: "é", count: 512)
            }
            form("an unknown one, 513 letters of two octets", .malformed("form_value_too_long")) {
                $0["foo"] = String(repeating: "é", count: 513)
            }
            form("client_id, 255", .client("client_unknown")) { $0["client_id"] = long(255) }
            form("audience, 1,024", .target("audience_unknown")) { $0["audience"] = long(1024) }
            form("scope, 4,096", .scope("scope_exceeds_client")) { $0["scope"] = long(4096) }
            form("actor_token, 4,096", .malformed("actor_token_malformed")) { $0["actor_token"] = long(4096) }
            form("a device_secret, 4,096", .unusable("device_hash_mismatch"), profile: .deviceSecret) {
                $0["actor_token"] = long(4096)
            }
            form("an assertion, 8,192", .client("client_assertion_malformed")) { $0.assert(long(8192)) }
            form("an assertion, 8,193", .malformed("form_value_too_long")) { $0.assert(long(8193)) }
            form("a grant, 1,025", .malformed("form_value_too_long")) { $0["grant_type"] = long(1025) }
            refresh("refresh_token, 512", .unusable("refresh_token_not_ours")) { form, _ in
                form["refresh_token"] = long(512)
            }
        }
        Attack("K-10", "a claim at its limit") {
            claim("sub", "\"\(long(255))\"", .granted)
            token("sid", .granted) { token, _ in token.claims["sid"] = .string(Unguessable.make() + long(212)) }
        }
        Attack("K-25", "claims at their limits") {
            members("128 members", 128, .granted)
            members("129 members", 129, .malformed("subject_token_malformed"))
            claim("x", nested(7), .granted)
            claimsText("9 deep", "subject_token_malformed") { $0.dropLast() + #","x":\#(nested(8))}"# }
            claim("x", elements(1024), .granted)
            claimsText("1,025 elements", "subject_token_malformed") { $0.dropLast() + #","x":\#(elements(1025))}"# }
        }
    }

    private static func long(_ count: Int) -> String { String(repeating: "a", count: count) }

    private static func nested(_ depth: Int) -> String {
        String(repeating: #"{"a":"#, count: depth) + "1" + String(repeating: "}", count: depth)
    }

    private static func elements(_ count: Int) -> String {
        "[\(Array(repeating: "1", count: count).joined(separator: ","))]"
    }

    /// Pads the claims so that the ES256 token is as long as possible within `length` characters.
    private static func filled(_ claims: String, to length: Int, header: JSONObject) -> String {
        let payload = length - Base64URL.encode(header.octets).utf8.count - 86 - 2  // signature, and two full stops
        let room = payload / 4 * 3 - claims.utf8.count - #","x":"""#.utf8.count
        return claims.dropLast() + #","x":"\#(long(room))"}"#
    }
}

extension Attack {
    private static func fields(_ name: String, _ count: Int, _ verdict: Verdict) -> Variant {
        http(name, verdict) {
            // Host and Content-Length are there already.
            for index in $0.fields.count + 2..<count { $0.fields.append(("X-\(index)", "a")) }
        }
    }

    private static func target(_ name: String, _ count: Int, _ verdict: Verdict) -> Variant {
        http(name, verdict) { $0.target = "/token?".padding(to: count) }
    }

    private static func parameters(_ name: String, _ count: Int, _ verdict: Verdict) -> Variant {
        form(name, verdict) { for index in $0.parameters.count..<count { $0.append("x\(index)", "1") } }
    }

    private static func members(_ name: String, _ count: Int, _ verdict: Verdict) -> Variant {
        token(name, verdict) { token, _ in
            for index in token.claims.names.count..<count { token.claims["c\(index)"] = .number(JSONNumber(1)) }
        }
    }

    /// A good form, made so long by unknown parameters whose every character is escaped.
    private static func padded(_ name: String, _ count: Int, _ verdict: Verdict) -> Variant {
        http(name, verdict) { request in
            while count - request.body.count > 4000 {
                let name = "&p\(request.body.count)="
                request.body += Array((name + String(repeating: "%61", count: 1000)).utf8)
            }
            for (index, rest) in [2, 1].enumerated() {
                let name = "&q\(index)="
                let room = (count - request.body.count) / rest - name.utf8.count
                let text = String(repeating: "%61", count: room / 3) + String(repeating: "a", count: room % 3)
                request.body += Array((name + text).utf8)
            }
        }
    }
}

extension String {
    fileprivate func padding(to count: Int) -> String { self + String(repeating: "a", count: count - utf8.count) }
}

extension TokenForm {
    fileprivate mutating func assert(_ assertion: String) {
        self["client_id"] = nil
        self["client_assertion_type"] = Self.assertionType
        self["client_assertion"] = assertion
    }
}
