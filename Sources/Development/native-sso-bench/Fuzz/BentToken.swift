import BrokerTesting
import StrictCoding

/// A token whose header or claims were bent and then signed all the same, or which was bent as a whole.
struct BentToken {
    let octets: [UInt8]
    /// Nothing of it is bent.
    let isGood: Bool
    /// What its signature is good for; `nil` where it is for nothing, or for no JSON.
    let header: JSONObject?
    let claims: JSONObject?

    /// A quarter each: good, with a bent header, with bent claims, bent when it was signed.
    init(_ header: JSONObject, _ claims: JSONObject, by key: TestKey, _ random: inout SeededRandom) throws {
        let kind = random.below(4)
        let headerText = kind == 1 ? JSONMutation.text(of: header, &random) : header.octets
        let claimsText = kind == 2 ? JSONMutation.text(of: claims, &random) : claims.octets
        let token = Array(try key.sign(header: headerText, payload: claimsText).utf8)
        var bent = token
        if kind == 3 { OctetMutation.apply(to: &bent, &random) }
        octets = bent
        isGood = kind == 0
        // A bent form or field can be the token again, with white space around it.
        guard Self.trimmed(bent) == token else {
            (self.header, self.claims) = (nil, nil)
            return
        }
        self.header = kind == 1 ? try? JSONReader.parse(headerText).object : header
        self.claims = kind == 2 ? try? JSONReader.parse(claimsText).object : claims
    }

    private static func trimmed(_ octets: [UInt8]) -> [UInt8] {
        let line = FuzzMessage.oneLine(octets).drop { $0 == 0x20 || $0 == 0x09 }
        guard let last = line.lastIndex(where: { $0 != 0x20 && $0 != 0x09 }) else { return [] }
        return Array(line[...last])
    }
}

/// What must be true of a token that is taken, whatever else must. Each is said anew here, and not by the code of the broker.
extension BentToken {
    /// Whom an id_token of the sample identity provider says to have logged in.
    var subject: String? {
        guard signs("ES256", elsewhere: ["logout+jwt", "at+jwt", "dpop+jwt", "client-authentication+jwt"]),
            claims?.string("iss") == SampleApps.issuer, claims?.number("iat") != nil
        else { return nil }
        return claims?.string("sub")
    }

    /// Whether it can prove a key for a POST to the token endpoint. RFC 9449 §4.3.
    func proves(_ key: TestKey, at now: Int64) -> Bool {
        guard signs("ES256", as: "dpop+jwt"), let header, let claims, claims.string("htm") == "POST" else {
            return false
        }
        guard let made = claims.number("iat")?.wholeSeconds, (now - 120...now + 120).contains(made) else {
            return false
        }
        let target = claims.string("htu")?.prefix { $0 != "?" && $0 != "#" }.lowercased()
        guard target == SampleApps.tokenEndpoint, claims.string("jti")?.isEmpty == false else { return false }
        let shown = header.object("jwk")
        return TestProof.jwk(of: key).members.allSatisfy { shown?[$0.name] == $0.value }
            && shown?.contains("d") == false
    }

    /// Whether it can show that its sender is a client. RFC 7523 §3.
    func authenticates(_ client: String, at now: Int64) -> Bool {
        guard signs("ES256", elsewhere: ["logout+jwt", "at+jwt", "dpop+jwt"]), let claims else { return false }
        guard let end = claims.number("exp")?.wholeSeconds, (now - 120...now + 600).contains(end) else { return false }
        return claims.string("iss") == client && claims.string("sub") == client
            && claims.oneOrMoreStrings("aud") == [SampleApps.broker] && claims.string("jti")?.isEmpty == false
    }

    /// Whether it can end a session. Back-Channel Logout 1.0 §2.6.
    func endsSession(at now: Int64) -> Bool {
        guard signs("ES256", as: "logout+jwt"), let claims, !claims.contains("nonce") else { return false }
        guard claims.string("iss") == SampleApps.issuer, claims.contains("sub") || claims.contains("sid") else {
            return false
        }
        guard let made = claims.number("iat")?.wholeSeconds, (now - 600...now + 120).contains(made) else {
            return false
        }
        return claims.object("events")?.contains("http://schemas.openid.net/event/backchannel-logout") == true
            && claims.string("jti")?.isEmpty == false && claims.contains("aud")
    }

    /// - Parameters:
    ///   - type: Its media type; `nil`: any, but for those of other tokens.
    ///   - elsewhere: These.
    private func signs(_ algorithm: String, as type: String? = nil, elsewhere: [String] = []) -> Bool {
        guard let header, header.string("alg") == algorithm, !header.contains("crit") else { return false }
        let written = header.string("typ")?.lowercased()
        let name = written.map { $0.hasPrefix("application/") ? String($0.dropFirst(12)) : $0 }
        return type == nil ? !elsewhere.contains(name ?? "") : name == type
    }
}
