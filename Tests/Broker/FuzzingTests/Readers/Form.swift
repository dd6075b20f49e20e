@testable import BrokerHTTP
import BrokerTesting
import NativeSSO
import OAuthWire

extension Readers {
    private static let names = [
        Parameter.grantType, Parameter.clientID, Parameter.clientSecret, Parameter.scope, Parameter.refreshToken,
        Parameter.code, Parameter.redirectURI, Parameter.username, Parameter.password, Parameter.codeVerifier,
        Parameter.assertion, Parameter.clientAssertion, Parameter.clientAssertionType, Parameter.audience,
        Parameter.resource, Parameter.requestedTokenType, Parameter.subjectToken, Parameter.subjectTokenType,
        Parameter.actorToken, Parameter.actorTokenType, Parameter.deviceID, Parameter.deviceSecret,
        Parameter.handoffClient, Parameter.handoffOrigin, Parameter.handoffChallenge, Parameter.handoffVerifier,
    ]

    /// What was read of a form and written again reads the same; so do the requests that are made of it.
    static func form(_ octets: [UInt8]) throws -> Bool {
        guard let form = try? FormDecoder.decode(octets) else { return false }
        let pairs = names.flatMap { name in form.values(of: name).map { (name: name, value: $0) } }
        let again = try? FormDecoder.decode(FormEncoder.encode(pairs))
        for name in names {
            try hold(
                same(again?.values(of: name), form.values(of: name)), "\(name) is not read as it was written")
            // A repeated parameter has two readings; only these two may repeat.
            let mayRepeat = name == Parameter.audience || name == Parameter.resource
            try hold(mayRepeat || form.values(of: name).count < 2, "\(name) was accepted twice")
        }
        _ = try? PresentedClient(authorization: [], form)
        guard let grantType = try? TokenRequestReader.grantType(form) else { return false }
        let reader = TokenRequestReader(
            form: form, client: client, proof: nil, assertion: nil, requestID: UniqueID(high: 0, low: 0),
            issuers: [issuer])
        let read: Scope??
        switch grantType {
        case .tokenExchange where reader.asksForIDToken: read = (try? reader.enrolment()).map(\.scope)
        case .tokenExchange where reader.asksForHandoff:
            let request = try? reader.handoff()
            try request.map { try holdOrigin($0.origin) }
            read = request.map(\.exchange.scope)
        case .tokenExchange where reader.redeemsHandoff:
            let request = try? reader.redemption()
            try request.map { try holdOrigin($0.origin) }
            read = request.map(\.scope)
        case .tokenExchange: read = (try? reader.exchange()).map(\.scope)
        case .authorizationCode: read = (try? reader.code(origin: nil, at: [])).map(\.scope)
        case .refreshToken: read = (try? reader.refresh()).map(\.scope)
        }
        guard let scope = read else { return false }
        if let scope {
            let again = ScopeTokens(scope.tokens.joined(separator: " "))
            try hold(same(again?.tokens, scope.tokens), "a scope is not read as it was written")
        }
        return true
    }

    /// An origin has one way to be written, and no path.
    private static func holdOrigin(_ origin: WebOrigin) throws {
        let text = origin.string
        try hold(text.lowercased() == text && text.utf8.count { $0 == UInt8(ascii: "/") } == 2, "an odd origin")
        try hold(!text.utf8.contains { $0 <= 0x20 || $0 > 0x7E || "?#@\\".utf8.contains($0) }, "an odd origin")
    }

    private static let client = Client(
        id: ClientID(validated: "app"), allowedScope: .empty, defaultScope: .empty, audiences: [])
    private static let issuer = IssuerPolicy(
        issuer: Issuer(validated: "https://idp.example.com"), profiles: Set(Profile.allCases),
        acceptsHyphenatedIDTokenType: true, enrolsByExchange: true)

    /// By octets, which `==` on strings is not.
    private static func same(_ a: [String]?, _ b: [String]) -> Bool {
        a.map { $0.map { Array($0.utf8) } } == b.map { Array($0.utf8) }
    }
}
