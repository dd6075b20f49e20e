import BrokerTesting
import OAuthWire
import StrictCoding

/// A form as it lies on the wire, in pairs.
struct FuzzForm {
    var pairs: [(name: [UInt8], value: [UInt8])]

    init(_ parameters: [(name: String, value: String)]) {
        pairs = parameters.map { (Array($0.name.utf8), Self.escaped($0.value)) }
    }

    /// Replaces a value, or appends the pair.
    mutating func set(_ name: String, _ value: [UInt8]) {
        let name = Array(name.utf8)
        if let index = pairs.firstIndex(where: { $0.name == name }) {
            pairs[index].value = value
        } else {
            pairs.append((name, value))
        }
    }

    mutating func remove(_ name: String) { pairs.removeAll { $0.name == Array(name.utf8) } }

    var octets: [UInt8] {
        Array(pairs.map { $0.name + [UInt8(ascii: "=")] + $0.value }.joined(separator: [UInt8(ascii: "&")]))
    }

    static func escaped(_ text: String) -> [UInt8] { escaped(Array(text.utf8)) }

    /// Everything that is not unreserved (RFC 3986 §2.3) is escaped: octets that are no text, too.
    static func escaped(_ octets: [UInt8]) -> [UInt8] {
        var escaped: [UInt8] = []
        escaped.reserveCapacity(octets.count + 64)
        for octet in octets {
            switch octet {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: escaped.append(octet)
            default: escaped += [UInt8(ascii: "%")] + Hexadecimal.encode([octet]).utf8
            }
        }
        return escaped
    }

    /// One or two changes.
    mutating func mutate(_ random: inout SeededRandom) {
        for _ in 0...random.below(2) {
            guard !pairs.isEmpty else { return }
            let index = random.below(pairs.count)
            let other = random.below(pairs.count)
            switch random.below(11) {
            case 0: pairs.remove(at: index)
            case 1: pairs.append(pairs[index])
            case 2: pairs[index].value = pairs[other].value
            case 3: pairs[index].name = pairs[other].name
            case 4: pairs.append((random.pick(Self.names) ?? [], random.pick(Self.values) ?? []))
            case 5: pairs[index].value = random.pick(Self.values) ?? []
            case 6: OctetMutation.apply(to: &pairs[index].name, &random)
            case 7:
                pairs[index].value = pairs[index].value.flatMap { [UInt8(ascii: "%")] + Hexadecimal.encode([$0]).utf8 }
            case 8: for number in 0..<random.below(40) { pairs.append((Array("p\(number)".utf8), [0x31])) }
            case 9:
                pairs[index].value = Array(
                    repeating: 0x61, count: [255, 256, 512, 513, 1024, 1025, 4096, 4097, 16_385][random.below(9)])
            default: OctetMutation.apply(to: &pairs[index].value, &random)
            }
        }
    }

    private static let names = [
        Parameter.grantType, Parameter.clientID, Parameter.clientSecret, Parameter.scope, Parameter.refreshToken,
        Parameter.code, Parameter.redirectURI, Parameter.codeVerifier, Parameter.username, Parameter.password,
        Parameter.assertion, Parameter.clientAssertion, Parameter.clientAssertionType, Parameter.audience,
        Parameter.resource, Parameter.requestedTokenType, Parameter.subjectToken, Parameter.subjectTokenType,
        Parameter.actorToken, Parameter.actorTokenType, Parameter.deviceID, Parameter.deviceSecret, "foo", "a[]", "",
    ].map { Array($0.utf8) }

    private static let values: [[UInt8]] =
        (GrantType.allCases.map(\.rawValue) + TokenTypeURI.allCases.map(\.rawValue) + [
            "", "openid", "openid profile", "openid  profile", "device_sso", "payments", "\0", "\r\n", "a b", "é",
            "http://169.254.169.254/", "' OR 1=1--", "app-00", "app-23", SampleApps.source, SampleApps.issuer, "nsr1.",
            "..", "a.b.c",
        ]).map(escaped)
        + ["%", "%4", "%zz", "%00", "%ff", "%c0%af", "%ed%a0%80", ";", "+", "&&", "=", "\u{0}"].map { Array($0.utf8) }
}
