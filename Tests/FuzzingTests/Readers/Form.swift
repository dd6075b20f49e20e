@testable import BrokerHTTP
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
        _ = try? PresentedClient(authorization: [], ClientParameters(form))
        guard let grantType = try? GrantType(form),
            let request = try? TokenRequest(form, grantType: grantType, enrols: true, relaysCodes: true)
        else {
            return false
        }
        switch request {
        case .tokenExchange(let parameters):
            try scope(parameters.scope)
            try hold(grantType == .tokenExchange, "an exchange under another grant")
        case .enrolment(let parameters):
            try scope(parameters.scope)
            try hold(grantType == .tokenExchange, "an enrolment under another grant")
        case .authorizationCode(let parameters):
            try scope(parameters.scope)
            try hold(grantType == .authorizationCode, "a code under another grant")
        case .refreshToken(let parameters):
            try scope(parameters.scope)
            try hold(grantType == .refreshToken, "a refresh under another grant")
        }
        return true
    }

    private static func scope(_ scope: ScopeTokens?) throws {
        guard let scope else { return }
        let again = ScopeTokens(scope.tokens.joined(separator: " "))
        try hold(same(again?.tokens, scope.tokens), "a scope is not read as it was written")
    }

    /// By octets, which `==` on strings is not.
    private static func same(_ a: [String]?, _ b: [String]) -> Bool {
        a.map { $0.map { Array($0.utf8) } } == b.map { Array($0.utf8) }
    }
}
