@testable import BrokerHTTP
import OAuthWire

extension Readers {
    static func authorization(_ octets: [UInt8]) throws -> Bool {
        let text = String(decoding: octets, as: UTF8.self)
        guard case .basic(let credentials) = AuthorizationHeader(text) else { return false }
        guard case .basic(let again) = AuthorizationHeader(credentials.headerValue),
            again.clientID.utf8.elementsEqual(credentials.clientID.utf8),
            again.clientSecret?.secret.utf8.map(\.self) == credentials.clientSecret?.secret.utf8.map(\.self)
        else { throw Violation(description: "credentials are not read as they were written") }
        guard let form = try? FormDecoder.decode([]) else { throw Violation(description: "no empty form") }
        let presented = try PresentedClient(authorization: [text], form)
        try hold(presented.id.utf8.elementsEqual(credentials.clientID.utf8), "another client than the header names")
        return true
    }
}
