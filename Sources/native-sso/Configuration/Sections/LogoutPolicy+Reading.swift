import NativeSSO

extension LogoutPolicy {
    /// `logout` of one identity provider.
    init?(reading section: Section) {
        let audiences = section.values("audiences", Self.audience) ?? []
        let missingExpiry = section.flag("allow_missing_exp", default: false)
        let jwtType = section.flag("allow_typ_jwt", default: false)
        let reach = section.choice("reach", default: LogoutReach.nameless)
        guard let missingExpiry, let jwtType, let reach else { return nil }
        self.init(
            audiences: audiences.map(\.value), allowsMissingExpiry: missingExpiry, allowsJWTType: jwtType,
            reach: reach)
    }

    private static func audience(_ text: String) throws(ValueDefect) -> ClientID {
        guard let client = ClientID(text) else {
            throw ValueDefect("write at most \(ClientID.maximumLength) printable ASCII characters")
        }
        return client
    }
}
