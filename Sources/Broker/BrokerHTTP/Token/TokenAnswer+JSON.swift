import NativeSSO
import OAuthWire
import StrictCoding

extension TokenAnswer {
    /// The body. `scope` stands beside every access token of ours, so that the app need not remember what it asked for.
    var json: [UInt8] {
        var json = JSONWriter(reservingCapacity: 2048)
        json.object { json in
            json.member("access_token", accessToken)
            if let issued { json.member("issued_token_type", issued.type.rawValue) }
            json.member("token_type", tokenType.rawValue)
            if let expiresIn { json.member("expires_in", expiresIn.count) }
            if let scope { json.member("scope", scope) }
            if let refreshToken { json.member("refresh_token", refreshToken) }
            if let idToken { json.member("id_token", idToken) }
            if let deviceSecret { json.member("device_secret", deviceSecret) }
        }
        return json.bytes
    }

    private var tokenType: TokenType {
        if case .idToken = issued { return .notApplicable }
        return isBound ? .dpop : .bearer
    }
}

extension TokenAnswer.Issued {
    fileprivate var type: TokenTypeURI {
        switch self {
        case .accessToken: .accessToken
        case .idToken: .idToken
        }
    }
}
