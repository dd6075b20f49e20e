import StrictCoding
import BrokerHarness
import Testing

/// One row of the abuse catalogue: an attack in all its variants.
/// Some rows only look like an attack, and the broker must grant them.
struct Attack: Sendable, CustomTestStringConvertible {
    let id: String
    let title: String
    let variants: [Variant]

    struct Variant: Sendable {
        let name: String
        let verdict: Verdict
        let inHTTP2: InHTTP2
        let message: @Sendable (Fixture) async throws -> Message

        /// - Parameter request: A request that HTTP/1.1 and HTTP/2 can both express.
        init(
            name: String, verdict: Verdict, inHTTP2: InHTTP2 = .same,
            request: @escaping @Sendable (Fixture) async throws -> HTTPRequest
        ) {
            (self.name, self.verdict, self.inHTTP2) = (name, verdict, inHTTP2)
            message = { .request(try await request($0)) }
        }

        /// - Parameters:
        ///   - octets: The HTTP/1.1 octets on the wire.
        ///   - twin: The closest request that HTTP/2 can express.
        init(
            name: String, verdict: Verdict, inHTTP2: InHTTP2,
            octets: @escaping @Sendable (Fixture) throws -> [UInt8],
            twin: (@Sendable (Fixture) throws -> HTTPRequest)? = nil
        ) {
            (self.name, self.verdict, self.inHTTP2) = (name, verdict, inHTTP2)
            message = { .octets(try octets($0), twin: try twin?($0)) }
        }
    }

    enum Message: Sendable {
        case request(HTTPRequest)
        case octets([UInt8], twin: HTTPRequest?)

        /// In HTTP/1.1.
        var octets: [UInt8] {
            switch self {
            case .request(let request): request.octets
            case .octets(let octets, _): octets
            }
        }

        /// In HTTP/2.
        var request: HTTPRequest? {
            switch self {
            case .request(let request): request
            case .octets(_, let twin): twin
            }
        }
    }

    /// The expected outcome over HTTP/2.
    enum InHTTP2: Sendable {
        case same
        /// HTTP/2 allows it with another outcome.
        case other(Verdict)
        /// RFC 9113 §8.1.1 forbids it: the broker resets or answers the stream and logs `http_malformed`.
        case malformed
        /// The connection ends with GOAWAY: RFC 9113 §5.4.1.
        case goAway
        /// HTTP/2 cannot express it.
        case unsayable(because: String)
    }

    var testDescription: String { "\(id) \(title)" }

    init(_ id: String, _ title: String, @ListBuilder _ variants: () -> [Variant]) {
        self.id = id
        self.title = title
        self.variants = variants()
    }
}

extension Attack {
    @ListBuilder static var all: [Attack] {
        httpAttacks
        framingAttacks
        formAttacks
        sizeAttacks
        clientAttacks
        assertionAttacks
        headerAttacks
        textAttacks
        claimAttacks
        deviceAttacks
        scopeAttacks
        targetAttacks
        refreshAttacks
        proofAttacks
        enrolmentAttacks
    }

    /// The attacks on message, form and client authentication, which every ``Endpoint`` judges alike.
    static var ofEveryEndpoint: [Attack] {
        // Parameters and rights of a grant, and id_tokens so long that only the token endpoint takes them.
        let others: Set = ["F-11", "F-14", "F-17", "C-04", "K-10", "K-25"]
        let attacks = httpAttacks + framingAttacks + formAttacks + sizeAttacks + clientAttacks + assertionAttacks
        return attacks.filter { !others.contains($0.id) }.map { attack in
            // A longer path alone takes the one over its limit; the other is a parameter of the token endpoint.
            let variants = attack.variants.filter {
                $0.verdict.isOfEveryEndpoint && !["8,192 octets of target", "refresh_token"].contains($0.name)
            }
            return Attack(attack.id, attack.title) { variants }
        }.filter { !$0.variants.isEmpty }
    }

    /// What is refused before its body is looked at.
    static var ofTheWire: [Attack] {
        (httpAttacks + framingAttacks + sizeAttacks).map { attack in
            let variants = attack.variants.filter { !$0.verdict.isAudited }
            return Attack(attack.id, attack.title) { variants }
        }.filter { !$0.variants.isEmpty }
    }

    /// Exactly these octets, which HTTP/2 cannot express.
    static func raw(
        _ name: String, _ verdict: Verdict, unsayable reason: String,
        _ octets: @escaping @Sendable (Fixture) throws -> [UInt8]
    ) -> Variant {
        Variant(name: name, verdict: verdict, inHTTP2: .unsayable(because: reason), octets: octets)
    }

    /// A good request with altered HTTP.
    /// - Parameter inHTTP2: By default a framing error is malformed in HTTP/2 too, and other verdicts are the same.
    static func http(
        _ name: String, _ verdict: Verdict, inHTTP2: InHTTP2? = nil,
        _ bend: @escaping @Sendable (inout HTTPRequest) -> Void
    ) -> Variant {
        Variant(name: name, verdict: verdict, inHTTP2: inHTTP2 ?? (verdict.isOfFraming ? .malformed : .same)) {
            fixture in
            var request = HTTPRequest.token(try fixture.exchange().parameters)
            bend(&request)
            return request
        }
    }

    /// A good exchange with altered parameters.
    static func form(
        _ name: String, _ verdict: Verdict, profile: NativeProfile = .deviceID,
        _ bend: @escaping @Sendable (inout TokenForm) -> Void
    ) -> Variant {
        Variant(name: name, verdict: verdict) { fixture in
            var form = try fixture.exchange(profile)
            bend(&form)
            return HTTPRequest.token(form.parameters)
        }
    }

    /// A good exchange with a form that no encoder would write. `$` stands for the correctly encoded form.
    static func formText(_ name: String, _ verdict: Verdict, _ text: String) -> Variant {
        Variant(name: name, verdict: verdict) { fixture in
            var request = HTTPRequest.token(try fixture.exchange().parameters)
            let parts = text.split(separator: "$", omittingEmptySubsequences: false)
            request.body =
                parts.count == 1 ? Array(text.utf8) : Array(parts[0].utf8) + request.body + Array(parts[1].utf8)
            return request
        }
    }

    /// A good exchange with an altered id_token, signed after the change.
    static func token(
        _ name: String, _ verdict: Verdict, profile: NativeProfile = .deviceID,
        _ bend: @escaping @Sendable (inout IDToken, Fixture) throws -> Void
    ) -> Variant {
        Variant(name: name, verdict: verdict) { fixture in
            HTTPRequest.token(try fixture.exchange(profile) { try bend(&$0, fixture) }.parameters)
        }
    }

    /// The same for one claim. The value is JSON text; `nil` omits the claim.
    static func claim(
        _ name: String, _ json: String?, _ verdict: Verdict, profile: NativeProfile = .deviceID
    ) -> Variant {
        token("\(name) \(json?.prefix(40) ?? "missing")", verdict, profile: profile) { token, _ in
            token.claims[name] = try json.map(JSONText.value)
        }
    }

    /// The same for one member of the header.
    static func header(_ name: String, _ json: String?, _ verdict: Verdict) -> Variant {
        token("\(name) \(json?.prefix(40) ?? "missing")", verdict) { token, _ in
            token.header[name] = try json.map(JSONText.value)
        }
    }

    /// A refresh of a live token family, with an altered form.
    static func refresh(
        _ name: String, _ verdict: Verdict, _ bend: @escaping @Sendable (inout TokenForm, Fixture) async throws -> Void
    ) -> Variant {
        Variant(name: name, verdict: verdict) { fixture in
            var form = TokenForm.refresh(try await fixture.family().refreshToken, client: Fixture.target)
            try await bend(&form, fixture)
            return HTTPRequest.token(form.parameters)
        }
    }
}

/// JSON values as tests write them.
enum JSONText {
    static func value(_ text: String) throws -> JSONValue { try JSONReader.parse(Array(text.utf8)) }
}
