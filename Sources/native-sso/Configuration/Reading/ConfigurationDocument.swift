/// The YAML file as far as the configuration uses YAML: mappings with plain names, sequences, and scalars that are text
/// until a key says otherwise.
indirect enum ConfigurationDocument {
    case scalar(Scalar, line: Int)
    case sequence([ConfigurationDocument], line: Int)
    case mapping([Entry], line: Int)

    struct Scalar {
        let text: String
        /// Written without quotes: only then are `true`, `null` and nothing at all more than text.
        let isPlain: Bool

        /// YAML 1.2 §10.2: nothing, `~` and `null` stand for no value.
        var isNull: Bool { isPlain && ["", "~", "null", "Null", "NULL"].contains(text) }
    }

    struct Entry {
        let key: String
        let line: Int
        let value: ConfigurationDocument
    }

    var line: Int {
        switch self {
        case .scalar(_, let line), .sequence(_, let line), .mapping(_, let line): line
        }
    }
}
