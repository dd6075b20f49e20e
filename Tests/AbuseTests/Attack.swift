import StrictCoding
import SystemTesting
import Testing

/// One row of the abuse catalogue: a way to ask for tokens that must lead nowhere (or, where it only looks bad, must not
/// be refused), in every variant that is worth trying.
struct Attack: Sendable, CustomTestStringConvertible {
    let id: String
    let title: String
    let variants: [Variant]

    struct Variant: Sendable {
        let name: String
        let verdict: Verdict
        /// What goes over the wire.
        let octets: @Sendable (Stage) async throws -> [UInt8]
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

    /// Exactly these octets.
    static func raw(_ name: String, _ verdict: Verdict, _ octets: @escaping @Sendable (Stage) throws -> [UInt8])
        -> Variant
    {
        Variant(name: name, verdict: verdict, octets: octets)
    }

    /// A good request, bent as HTTP.
    static func http(
        _ name: String, _ verdict: Verdict, _ bend: @escaping @Sendable (inout HTTPRequest) -> Void
    ) -> Variant {
        Variant(name: name, verdict: verdict) { stage in
            var request = HTTPRequest.token(try stage.exchange().parameters)
            bend(&request)
            return request.octets
        }
    }

    /// A good exchange, one of whose parameters is bent.
    static func form(
        _ name: String, _ verdict: Verdict, profile: NativeProfile = .deviceID,
        _ bend: @escaping @Sendable (inout TokenForm) -> Void
    ) -> Variant {
        Variant(name: name, verdict: verdict) { stage in
            var form = try stage.exchange(profile)
            bend(&form)
            return HTTPRequest.token(form.parameters).octets
        }
    }

    /// A good exchange with a form that no encoder would write: `$` stands for the well-encoded one.
    static func formText(_ name: String, _ verdict: Verdict, _ text: String) -> Variant {
        Variant(name: name, verdict: verdict) { stage in
            var request = HTTPRequest.token(try stage.exchange().parameters)
            let parts = text.split(separator: "$", omittingEmptySubsequences: false)
            request.body =
                parts.count == 1 ? Array(text.utf8) : Array(parts[0].utf8) + request.body + Array(parts[1].utf8)
            return request.octets
        }
    }

    /// A good exchange with a bent id_token, signed by the key that it says.
    static func token(
        _ name: String, _ verdict: Verdict, profile: NativeProfile = .deviceID,
        _ bend: @escaping @Sendable (inout IDToken, Stage) throws -> Void
    ) -> Variant {
        Variant(name: name, verdict: verdict) { stage in
            HTTPRequest.token(try stage.exchange(profile) { try bend(&$0, stage) }.parameters).octets
        }
    }

    /// The same for one claim; `nil` leaves it out. The value is JSON text.
    static func claim(
        _ name: String, _ json: String?, _ verdict: Verdict, profile: NativeProfile = .deviceID
    ) -> Variant {
        token("\(name) \(json?.prefix(40) ?? "missing")", verdict, profile: profile) { token, _ in
            token.claims[name] = try json.map(JSONText.value)
        }
    }

    /// A refresh of a live chain, bent.
    static func refresh(
        _ name: String, _ verdict: Verdict, _ bend: @escaping @Sendable (inout TokenForm, Stage) async throws -> Void
    ) -> Variant {
        Variant(name: name, verdict: verdict) { stage in
            var form = TokenForm.refresh(try await stage.chain().refreshToken, client: Stage.target)
            try await bend(&form, stage)
            return HTTPRequest.token(form.parameters).octets
        }
    }
}
