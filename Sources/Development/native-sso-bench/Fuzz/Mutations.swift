import BrokerTesting
import StrictCoding

/// Changes that know nothing of what they change.
enum OctetMutation {
    /// One to three changes.
    static func apply(to octets: inout [UInt8], _ random: inout SeededRandom) {
        for _ in 0...random.below(3) {
            let index = random.below(octets.count + 1)
            let end = min(octets.count, index + random.below(16))
            switch random.below(8) {
            case 0: octets.removeSubrange(index..<end)
            case 1: octets.insert(contentsOf: octets[index..<end], at: index)
            case 2: octets.insert(UInt8(truncatingIfNeeded: random.next()), at: index)
            case 3 where random.oneIn(4): octets.removeSubrange(index...)
            case 4: octets.insert(telling[random.below(telling.count)], at: index)
            case 5 where index < octets.count: octets[index] ^= 1 << UInt8(random.below(8))
            case 6 where index < octets.count && end - 1 > index: octets.swapAt(index, end - 1)
            default: if index < octets.count { octets[index] = telling[random.below(telling.count)] }
            }
        }
    }

    /// What the grammars here are made of, and what breaks them.
    private static let telling = Array(
        "\0\t\r\n \"%&'+,-./0159:;<=>?@AEFZ[\\]_`aefz{|}~\u{7F}\u{E9}\u{212A}\u{FEFF}".utf8)
}

/// Changes to a JSON object that leave most of it as it was, so that what reads it gets far.
enum JSONMutation {
    /// The text of the object after one or two changes.
    static func text(of object: JSONObject, _ random: inout SeededRandom) -> [UInt8] {
        var members = object.members.map { (name: JSONValue.string($0.name).octets, value: $0.value.octets) }
        for _ in 0...random.below(2) {
            let index = random.below(members.count)
            switch random.below(9) {
            case 0 where !members.isEmpty: members.remove(at: index)
            case 1 where !members.isEmpty: members.append(members[index])
            case 2 where !members.isEmpty: members[index].value = members[random.below(members.count)].value
            case 3: members.append((random.pick(names) ?? [], random.pick(values) ?? []))
            case 4 where !members.isEmpty: OctetMutation.apply(to: &members[index].name, &random)
            case 5 where !members.isEmpty: OctetMutation.apply(to: &members[index].value, &random)
            case 6: for number in 0..<random.below(140) { members.append((Array("\"m\(number)\"".utf8), [0x30])) }
            default: if !members.isEmpty { members[index].value = random.pick(values) ?? [] }
            }
        }
        let pairs = members.map { $0.name + [UInt8(ascii: ":")] + $0.value }
        var text = [UInt8(ascii: "{")] + Array(pairs.joined(separator: [UInt8(ascii: ",")])) + [UInt8(ascii: "}")]
        if random.oneIn(12) { OctetMutation.apply(to: &text, &random) }
        return text
    }

    /// Names with a meaning in JWTs or OAuth.
    private static let names = [
        "alg", "typ", "kid", "crit", "b64", "jwk", "jku", "x5c", "zip", "cty", "iss", "sub", "aud", "azp", "exp", "iat",
        "nbf", "jti", "sid", "auth_time", "acr", "amr", "act", "may_act", "events", "nonce", "scope", "client_id",
        "cnf",
        "di_hash", "ds_hash", "", "s\\u0075b", "\\u0000",
    ].map { Array("\"\($0)\"".utf8) }

    private static let values = [
        "null", "true", "false", "0", "-0", "-1", "1", "1.5", "1e3", "1e308", "1e400", "9223372036854775807",
        "9223372036854775808", "-9223372036854775808", "18446744073709551616", "1700000000", "99999999999", "01", "NaN",
        #""""#, #""x""#, #"" ""#, #""\u0000""#, #""\ud800""#, #""none""#, #""ES256""#, #""RS256""#, #""HS256""#,
        #""at+jwt""#, #""logout+jwt""#, #""dpop+jwt""#, #""app-source""#, #""app-00""#, "[]", "{}", #"["app-source"]"#,
        #"["app-source","app-01"]"#, #"[["a"]]"#, #"{"sub":"a"}"#, "[[[[[[[[[[[]]]]]]]]]]]", #"["b64"]"#,
        "\"\(String(repeating: "a", count: 300))\"", "[\(Array(repeating: "0", count: 1100).joined(separator: ","))]",
    ].map { Array($0.utf8) }
}
