import NativeSSOClient
import OAuthWire
import StrictCoding
import Synchronization

/// One request and its answer as they went over the wire, for people: values that could be used again are cut short.
struct Exchange: Sendable {
    /// The `client_id` of the app that asks, or `operator`.
    let from: String
    /// The URL that it asks; `broker` for a command of the operator.
    let address: String
    let request: String
    let status: Int
    let answer: String
    let requestID: String?
    /// The JWTs in both, decoded and not verified.
    let tokens: [DecodedToken]
    /// The answer never reached the app.
    var isLost = false
    /// What `native-sso explain` says of a refusal.
    var explanation: String?

    struct DecodedToken: Sendable {
        let name: String
        let header: String
        let claims: String
    }

    init(from: String, _ request: TransportRequest, _ response: TransportResponse) {
        let parameters = Self.parameters(request.body)
        let members = (try? JSONReader.parse(response.body))?.object?.members ?? []
        self.from = from
        address = request.address
        status = response.status
        requestID = response[field: "X-Request-Id"]
        let path = request.address.split(separator: "/", maxSplits: 2).last.map { $0.drop { $0 != "/" } } ?? "/"
        self.request =
            (["\(request.method) \(path) HTTP/1.1"] + Self.lines(request.fields) + [""]
            + parameters.map { "\($0.name)=\(Narrator.shown($0.name, $0.value))" }).joined(separator: "\n")
        let text =
            members.isEmpty
            ? [String(decoding: response.body.prefix(2000), as: UTF8.self)]
            : ["{"] + members.map { "  \"\($0.name)\": \(Narrator.shown($0.name, Narrator.text($0.value)))" } + ["}"]
        answer = (["HTTP/1.1 \(response.status)"] + Self.lines(response.fields) + [""] + text).joined(separator: "\n")
        let bearer = request.fields.filter { $0.name.lowercased() == "authorization" }.map {
            (name: "access token", value: String($0.value.dropFirst(7)))
        }
        let all =
            bearer + parameters
            + members.compactMap { member in member.value.string.map { (name: member.name, value: $0) } }
        tokens = all.compactMap { DecodedToken(name: $0.name, $0.value) }
    }

    /// A command of the operator.
    init(command: String, status: Int, output: String) {
        (from, address, request, self.status, answer) = ("operator", "broker", "$ " + command, status, output)
        (requestID, tokens) = (nil, [])
    }

    /// In the order of the form.
    private static func parameters(_ form: [UInt8]) -> [(name: String, value: String)] {
        guard let decoded = try? FormDecoder.decode(form) else { return [] }
        return form.split(separator: UInt8(ascii: "&")).compactMap { pair in
            let name = String(decoding: pair.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
            return decoded[name].map { (name, $0) }
        }
    }

    private static func lines(_ fields: [(name: String, value: String)]) -> [String] {
        fields.map { name, value in
            guard name.lowercased() == "authorization", let space = value.firstIndex(of: " ") else {
                return "\(name): \(value)"
            }
            return "\(name): \(value[...space])\(Narrator.short(String(value[value.index(after: space)...])))"
        }
    }

    func write(to json: inout JSONWriter) {
        json.member("from", from)
        json.member("address", address)
        json.member("request", request)
        json.member("status", Int64(status))
        json.member("answer", answer)
        json.member("lost", isLost)
        if let explanation { json.member("explanation", explanation) }
        json.member(
            "tokens",
            array: { json in
                for token in tokens {
                    json.object { json in
                        json.member("name", token.name)
                        json.member("header", token.header)
                        json.member("claims", token.claims)
                    }
                }
            })
    }
}

extension Exchange.DecodedToken {
    /// nil unless the value is a JWT.
    init?(name: String, _ value: String) {
        let parts = value.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = Self.text(parts[0]), let claims = Self.text(parts[1]) else { return nil }
        (self.name, self.header, self.claims) = (name, header, claims)
    }

    /// One line for each member.
    private static func text(_ segment: Substring) -> String? {
        guard let octets = Base64URL.decode(segment.utf8), let object = (try? JSONReader.parse(octets))?.object else {
            return nil
        }
        return object.members.map { "\($0.name): \(Narrator.text($0.value))" }.joined(separator: "\n")
    }
}

/// The exchanges of one press, in their order.
final class ExchangeRecorder: Sendable {
    private struct State {
        var exchanges: [Exchange] = []
        var losesNext = false
    }

    /// What the app sees of an answer that is lost on its way.
    struct AnswerLost: Error {}

    private let state = Mutex(State())

    /// - Throws: ``AnswerLost``, once after ``loseNext()``.
    func record(_ exchange: Exchange) throws(AnswerLost) {
        let isLost = state.withLock { state in
            var exchange = exchange
            exchange.isLost = state.losesNext
            state.losesNext = false
            state.exchanges.append(exchange)
            return exchange.isLost
        }
        if isLost { throw AnswerLost() }
    }

    func loseNext() { state.withLock { $0.losesNext = true } }

    /// All of them; none are left.
    func take() -> [Exchange] {
        state.withLock { state in
            defer { state = State() }
            return state.exchanges
        }
    }
}
