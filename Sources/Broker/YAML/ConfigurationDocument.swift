internal import CYAML

/// The YAML file as far as the configuration uses YAML: mappings with plain names, sequences, and scalars that are text
/// until a key says otherwise.
package indirect enum ConfigurationDocument: Sendable {
    case scalar(Scalar, line: Int)
    case sequence([ConfigurationDocument], line: Int)
    case mapping([Entry], line: Int)

    package struct Scalar: Sendable {
        package let text: String
        /// Written without quotes: only then are `true`, `null` and nothing at all more than text.
        package let isPlain: Bool

        package init(text: String, isPlain: Bool) { (self.text, self.isPlain) = (text, isPlain) }

        /// YAML 1.2 §10.2: nothing, `~` and `null` stand for no value.
        package var isNull: Bool { isPlain && ["", "~", "null", "Null", "NULL"].contains(text) }
    }

    package struct Entry: Sendable {
        package let key: String
        package let line: Int
        package let value: ConfigurationDocument

        package init(key: String, line: Int, value: ConfigurationDocument) {
            self.key = key
            self.line = line
            self.value = value
        }
    }

    package var line: Int {
        switch self {
        case .scalar(_, let line), .sequence(_, let line), .mapping(_, let line): line
        }
    }
}

/// Why a file is not such a document.
package struct YAMLProblem: Error, Sendable {
    /// `nil`: the whole file.
    package let line: Int?
    package let message: String
}

extension ConfigurationDocument {
    /// One document without anchors, aliases and tags, so each value stands at its key.
    package init(yaml: String) throws(YAMLProblem) {
        let events = Events(yaml)
        _ = try events.next()  // the stream begins
        guard try events.next() != YAML_STREAM_END_EVENT else { throw YAMLProblem(line: nil, message: "is empty") }
        _ = try events.next()
        let root = try Node(events)
        _ = try events.next()  // the document ends
        guard try events.next() == YAML_STREAM_END_EVENT else {
            throw YAMLProblem(line: events.line, message: "a second document begins here; write one only")
        }
        self = try Self.convert(root)
    }

    /// In order, so that the first problem of the file is named.
    private static func convert(_ node: Node) throws(YAMLProblem) -> ConfigurationDocument {
        guard !node.isAnchored else {
            throw YAMLProblem(line: node.line, message: "anchors (&) and aliases (*) are not read; write the value out")
        }
        guard !node.isTagged else { throw YAMLProblem(line: node.line, message: "tags (!) are not read; remove it") }
        switch node.content {
        case .scalar(let scalar): return .scalar(scalar, line: node.line)
        case .sequence(let nodes):
            return .sequence(try nodes.map { node throws(YAMLProblem) in try convert(node) }, line: node.line)
        case .mapping(let pairs):
            let entries = try pairs.map { key, value throws(YAMLProblem) in
                guard case .scalar(let name) = key.content else {
                    throw YAMLProblem(line: key.line, message: "a key must be a name")
                }
                _ = try convert(key)
                return Entry(key: name.text, line: key.line, value: try convert(value))
            }
            return .mapping(entries, line: node.line)
        }
    }
}

/// A value with all that YAML says of it.
private struct Node {
    indirect enum Content {
        case scalar(ConfigurationDocument.Scalar)
        case sequence([Node])
        case mapping([(key: Node, value: Node)])
    }

    let content: Content
    let line: Int
    let isAnchored: Bool
    let isTagged: Bool

    /// Reads the node that begins with the present event.
    init(_ events: Events) throws(YAMLProblem) {
        (line, isAnchored, isTagged) = (events.line, events.isAnchored, events.isTagged)
        switch events.kind {
        case YAML_SEQUENCE_START_EVENT:
            var nodes: [Node] = []
            while try events.next() != YAML_SEQUENCE_END_EVENT { nodes.append(try Node(events)) }
            content = .sequence(nodes)
        case YAML_MAPPING_START_EVENT:
            var pairs: [(key: Node, value: Node)] = []
            while try events.next() != YAML_MAPPING_END_EVENT {
                let key = try Node(events)
                _ = try events.next()
                pairs.append((key, try Node(events)))
            }
            try Self.checkNames(pairs.map(\.key))
            content = .mapping(pairs)
        default: content = .scalar(events.scalar)
        }
    }

    /// Names every key that is there twice, at the first of them.
    private static func checkNames(_ keys: [Node]) throws(YAMLProblem) {
        var lines: [String: [Int]] = [:]
        for key in keys {
            if case .scalar(let name) = key.content { lines[name.text, default: []].append(key.line) }
        }
        let repeated = lines.filter { $0.value.count > 1 }.sorted { $0.key < $1.key }
        guard let first = repeated.first else { return }
        let names = repeated.map(\.key).joined(separator: ", ")
        throw YAMLProblem(
            line: first.value[0], message: "\(names): given here and once more below; write each key once")
    }
}

/// The events of libyaml, one at a time.
@safe private final class Events {
    private let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
    private let input: UnsafeMutableBufferPointer<UInt8>
    private var event = unsafe yaml_event_t()

    init(_ text: String) {
        unsafe input = .allocate(capacity: text.utf8.count)
        _ = unsafe input.initialize(from: text.utf8)
        unsafe yaml_parser_initialize(parser)
        unsafe yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        unsafe yaml_parser_set_input_string(parser, input.baseAddress, input.count)
    }

    deinit {
        unsafe yaml_event_delete(&event)
        unsafe yaml_parser_delete(parser)
        unsafe parser.deallocate()
        unsafe input.deallocate()
    }

    func next() throws(YAMLProblem) -> yaml_event_type_t {
        unsafe yaml_event_delete(&event)
        guard unsafe yaml_parser_parse(parser, &event) == 1 else { throw unsafe Self.problem(parser.pointee) }
        return kind
    }

    private static func problem(_ parser: yaml_parser_t) -> YAMLProblem {
        guard let text = unsafe parser.problem.map({ unsafe String(cString: $0) }) else {
            return YAMLProblem(line: nil, message: "cannot be read as YAML")
        }
        guard unsafe parser.error != YAML_READER_ERROR else {
            return YAMLProblem(line: nil, message: "is not YAML: \(text)")
        }
        let mark = unsafe parser.problem_mark
        return YAMLProblem(line: mark.line + 1, message: "is not YAML at column \(mark.column + 1): \(text)")
    }

    // MARK: The present event

    var kind: yaml_event_type_t { unsafe event.type }

    var line: Int { unsafe event.start_mark.line + 1 }

    var isAnchored: Bool {
        switch kind {
        case YAML_ALIAS_EVENT: true
        case YAML_SEQUENCE_START_EVENT: unsafe event.data.sequence_start.anchor != nil
        case YAML_MAPPING_START_EVENT: unsafe event.data.mapping_start.anchor != nil
        default: unsafe event.data.scalar.anchor != nil
        }
    }

    var isTagged: Bool {
        switch kind {
        case YAML_ALIAS_EVENT: false
        case YAML_SEQUENCE_START_EVENT: unsafe event.data.sequence_start.tag != nil
        case YAML_MAPPING_START_EVENT: unsafe event.data.mapping_start.tag != nil
        default: unsafe event.data.scalar.tag != nil
        }
    }

    /// Empty for an alias.
    var scalar: ConfigurationDocument.Scalar {
        guard kind == YAML_SCALAR_EVENT else { return ConfigurationDocument.Scalar(text: "", isPlain: true) }
        let scalar = unsafe event.data.scalar
        let octets = unsafe UnsafeBufferPointer(start: scalar.value, count: scalar.length)
        let isPlain = unsafe scalar.style == YAML_PLAIN_SCALAR_STYLE || scalar.style == YAML_ANY_SCALAR_STYLE
        return ConfigurationDocument.Scalar(text: unsafe String(decoding: octets, as: UTF8.self), isPlain: isPlain)
    }
}
