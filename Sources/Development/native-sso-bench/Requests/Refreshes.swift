import OAuthWire

/// Refreshes many grants in turn. Each answer holds the refresh token for the next request of its grant.
struct Refreshes: Workload {
    private let families: TokenFamilies
    private let head: [UInt8]
    private(set) var position: Int
    private var underWay = [Int](repeating: 0, count: 4096)

    init(_ families: TokenFamilies, app: String, from position: Int = 0) {
        self.families = families
        self.position = position
        let form =
            FormEncoder.encode([
                Parameter.grantType: GrantType.refreshToken.rawValue, Parameter.clientID: app,
            ]) + Array("&\(Parameter.refreshToken)=".utf8)
        head = TokenRequest.head(bodyLength: form.count + families.tokenLength) + form
    }

    mutating func next(on connection: Int, into request: UnsafeMutableRawBufferPointer) -> Int? {
        for _ in 0..<families.count {
            let family = position
            position = (position + 1) % families.count
            guard let token = families[family] else { continue }
            underWay[connection] = family
            return request.fill(head, token)
        }
        return nil
    }

    mutating func answered(_ body: UnsafeRawBufferPointer, on connection: Int) {
        families.take(body, for: underWay[connection])
    }
}
