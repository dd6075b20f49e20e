import Yams

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

extension ConfigurationDocument {
    /// One document without anchors, aliases and tags, so each value stands at its key.
    init(yaml: String) throws(ConfigurationProblem) {
        let root: Node?
        let parser: Yams.Parser
        do {
            // `.basic` gives no meaning to scalars: whether `no` is a word or a truth value is for the key to say.
            parser = try Yams.Parser(yaml: yaml, resolver: .basic, constructor: .default, encoding: .utf8)
            root = try parser.singleRoot()
        } catch let error as YamlError {
            throw Self.problem(error)
        } catch {
            throw ConfigurationProblem(place: .file, message: "cannot be read as YAML")
        }
        // The parser owns the anchors; nodes only have weak references to them and would seem to have none.
        defer { withExtendedLifetime(parser) {} }
        guard let root else { throw ConfigurationProblem(place: .file, message: "is empty") }
        self = try Self.convert(root)
    }

    // MARK: Nodes

    /// Depth first and in order, so that an anchor is met before any alias of it could be followed.
    private static func convert(_ node: Node) throws(ConfigurationProblem) -> Self {
        let line = node.mark?.line ?? 1
        guard node.anchor == nil else { throw anchored(line) }
        switch node {
        case .scalar(let scalar):
            // Yams gives quoted scalars the tag that quotes imply.
            guard isImplicit(scalar.tag) || (!scalar.isPlain && scalar.tag.rawValue == Tag.Name.str.rawValue) else {
                throw tagged(line)
            }
            return .scalar(Scalar(text: scalar.string, isPlain: scalar.isPlain), line: line)
        case .sequence(let sequence):
            guard isImplicit(sequence.tag) else { throw tagged(line) }
            var elements: [Self] = []
            for element in sequence { elements.append(try convert(element)) }
            return .sequence(elements, line: line)
        case .mapping(let mapping):
            guard isImplicit(mapping.tag) else { throw tagged(line) }
            var entries: [Entry] = []
            for (key, value) in mapping {
                let line = key.mark?.line ?? line
                // The tag is ignored, because Yams sets it when it compares keys.
                guard case .scalar(let name) = key else { throw problem(line, "a key must be a name") }
                guard key.anchor == nil else { throw anchored(line) }
                entries.append(Entry(key: name.string, line: line, value: try convert(value)))
            }
            return .mapping(entries, line: line)
        case .alias:
            throw anchored(line)
        }
    }

    private static func isImplicit(_ tag: Tag) -> Bool { tag.rawValue == Tag.Name.implicit.rawValue }

    // MARK: Problems

    private static func anchored(_ line: Int) -> ConfigurationProblem {
        problem(line, "anchors (&) and aliases (*) are not read; write the value out")
    }

    private static func tagged(_ line: Int) -> ConfigurationProblem {
        problem(line, "tags (!) are not read; remove it")
    }

    private static func problem(_ line: Int, _ message: String) -> ConfigurationProblem {
        ConfigurationProblem(place: Place(origin: .line(line), key: ""), message: message)
    }

    private static func problem(_ error: YamlError) -> ConfigurationProblem {
        switch error {
        case .duplicatedKeysInMapping(let keys, let context):
            let names = keys.sorted().joined(separator: ", ")
            return problem(context.mark.line, "\(names): given here and once more below; write each key once")
        case .composer(_, "but found another document", let mark, _):
            return problem(mark.line, "a second document begins here; write one only")
        case .composer(_, "found undefined alias", let mark, _):
            return anchored(mark.line)
        case .scanner(_, let text, let mark, _), .parser(_, let text, let mark, _), .composer(_, let text, let mark, _):
            return problem(mark.line, "is not YAML at column \(mark.column): \(text)")
        case .reader(let text, _, _, _):
            return ConfigurationProblem(place: .file, message: "is not YAML: \(text)")
        default:
            return ConfigurationProblem(place: .file, message: "cannot be read as YAML")
        }
    }
}

extension Node.Scalar {
    fileprivate var isPlain: Bool { style == .plain || style == .any }
}
