import StrictCoding

/// What is kept of a code, for whoever repeats the request: only ever sealed.
enum KeptAnswer: Equatable {
    /// What the identity provider gave, and the device secret that goes with it: the rest can be made again.
    case tokens(ProviderTokens)
    case answer(ProviderTokens)
    case refused(ProviderError)

    var octets: [UInt8] {
        var json = JSONWriter(reservingCapacity: 4096)
        json.object { json in
            switch self {
            case .tokens(let answer): Self.write("tokens", answer, to: &json)
            case .answer(let answer): Self.write("answer", answer, to: &json)
            case .refused(let error): json.member("refused", error.rawValue)
            }
        }
        return json.bytes
    }

    init?(octets: [UInt8]) {
        guard let json = (try? JSONReader.parse(octets))?.object else { return nil }
        if let tokens = json.object("tokens").flatMap(Self.answer) {
            self = .tokens(tokens)
        } else if let answer = json.object("answer").flatMap(Self.answer) {
            self = .answer(answer)
        } else if let error = json.string("refused").flatMap(ProviderError.init(rawValue:)) {
            self = .refused(error)
        } else {
            return nil
        }
    }

    private static func write(_ name: String, _ tokens: ProviderTokens, to json: inout JSONWriter) {
        json.member(
            name,
            object: { json in
                json.member("access_token", tokens.accessToken)
                if let expiresIn = tokens.expiresIn { json.member("expires_in", expiresIn) }
                if let refreshToken = tokens.refreshToken { json.member("refresh_token", refreshToken) }
                if let scope = tokens.scope { json.member("scope", scope) }
                json.member("id_token", tokens.idToken)
                if let deviceSecret = tokens.deviceSecret { json.member("device_secret", deviceSecret) }
            })
    }

    private static func answer(_ json: JSONObject) -> ProviderTokens? {
        guard let accessToken = json.string("access_token"), let idToken = json.string("id_token") else { return nil }
        return ProviderTokens(
            accessToken: accessToken, expiresIn: json.number("expires_in")?.int64,
            refreshToken: json.string("refresh_token"), scope: json.string("scope"), idToken: idToken,
            deviceSecret: json.string("device_secret"))
    }
}
