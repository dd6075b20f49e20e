extension Configuration {
    /// `keys`: where the broker's private keys lie.
    struct Keys: Sendable, Hashable {
        /// An absolute path.
        let directory: String
    }
}

extension Configuration.Keys {
    init?(reading section: Section) {
        guard
            let directory = section.required("directory", example: "/var/lib/native-sso/keys", PathText.absolute)
        else { return nil }
        self.init(directory: directory)
    }
}
