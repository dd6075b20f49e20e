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
